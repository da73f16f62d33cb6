//! Prefetch and huge pages behind a safe interface: the only unsafe code of the core.
//!
//! Both are hints. A wrong address costs time, never correctness.
#![allow(unsafe_code)]

/// Asks the processor to bring the cache line of `slice[index]` near. Out of range does nothing.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        // SAFETY: a prefetch of a valid address has no effect on memory.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// A vector of `len` copies of `value` whose memory asks the kernel for huge pages before it is touched.
pub fn huge_vec<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(len);
    #[cfg(target_os = "linux")]
    {
        let bytes = len * size_of::<T>();
        let start = items.as_mut_ptr() as usize;
        let page = 1 << 21;
        let (from, to) = (start.next_multiple_of(page), (start + bytes) / page * page);
        if to > from {
            // SAFETY: the range lies inside the allocation of `items`; advice does not change its contents.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_HUGEPAGE) };
        }
    }
    items.resize(len, value);
    items
}
