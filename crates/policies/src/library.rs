//! Compiled policies: functions that get a pointer to a [`View`] and return their answer, or a negative code.

use crate::fault::Fault;
use crate::outside::Answers;
use crate::question::Question;
use crate::view::{Shown, View};
use object::Object;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A compiled policy, as C has it. What it returns below 0 is a code of its own for what went wrong.
pub type Function = unsafe extern "C" fn(view: *const View<'_>) -> i64;

/// What a function returns that raised an exception, where its language has any.
pub const RAISED: i64 = i64::MIN;

/// Answers by a compiled function, which remembers nothing. A function that writes its view ends the process.
pub struct Compiled {
    function: Function,
    parameters: Vec<f64>,
    /// Made by the first question.
    shown: Option<Shown>,
}

impl Compiled {
    /// A function with its parameters.
    ///
    /// # Safety
    /// It is of this type, reads no more than a view points to, and stays where it is.
    #[allow(unsafe_code)]
    pub unsafe fn new(function: Function, parameters: Vec<f64>) -> Self {
        Self { function, parameters, shown: None }
    }

    /// The function at an address, without parameters.
    ///
    /// # Safety
    /// As for `new`.
    #[allow(unsafe_code)]
    pub unsafe fn at(address: usize) -> Self {
        // SAFETY: the caller says that such a function is there.
        unsafe { Self::new(std::mem::transmute::<*const c_void, Function>(address as *const c_void), Vec::new()) }
    }
}

impl Answers for Compiled {
    fn answer(&mut self, question: &Question<'_>) -> Result<i64, Fault> {
        let no_memory = |error: io::Error| Fault { message: format!("has no memory for its view: {error}"), cause: None };
        let shown = match &mut self.shown {
            Some(shown) => shown,
            none => none.insert(Shown::new(question.view).map_err(no_memory)?),
        };
        let function = self.function;
        // SAFETY: the maker of this promised that the function takes such a pointer.
        #[allow(unsafe_code)]
        let answer = shown.ask(question, &self.parameters, |view| unsafe { function(view) }).map_err(no_memory)?;
        if answer >= 0 {
            return Ok(answer);
        }
        let message = if answer == RAISED {
            "raised an exception; without `compiled=True` it says which".into()
        } else {
            format!("failed with its code {answer}")
        };
        Err(Fault { message, cause: None })
    }
}

/// A function of a library. The library stays open for as long as the program runs.
///
/// # Errors
/// There is no such library or function, or the file was opened before and has changed since.
#[allow(unsafe_code)]
pub fn function(file: &str, digest: &str, name: &str) -> Result<Function, String> {
    /// The digest and the handle of each library, by its path.
    type Libraries = HashMap<Vec<u8>, (String, usize)>;
    static OPEN: Mutex<Option<Libraries>> = Mutex::new(None);
    let path = Path::new(file).canonicalize().map_err(|error| error.to_string())?;
    let bytes = path.as_os_str().as_bytes().to_vec();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    let handle = match open.get(&bytes) {
        Some((known, handle)) if known == digest => *handle,
        Some(_) => return Err("it has changed since this program opened it; start the program anew".into()),
        None => {
            let path = CString::new(bytes.clone()).map_err(|error| error.to_string())?;
            // SAFETY: a text that ends with a zero byte. What a library does when it is opened is its user's choice.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) } as usize;
            if handle == 0 {
                return Err(format!("it can't be opened: {}", last_error()));
            }
            open.insert(bytes, (digest.into(), handle));
            handle
        }
    };
    let symbol = CString::new(name).map_err(|error| error.to_string())?;
    // SAFETY: the handle is of a library that stays open.
    let address = unsafe { libc::dlsym(handle as *mut c_void, symbol.as_ptr()) };
    if address.is_null() {
        return Err(without_function(name));
    }
    // SAFETY: what a design names as a policy is one.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Function>(address) })
}

/// The refusal of a library that lacks a function.
pub fn without_function(name: &str) -> String {
    format!("it has no function `{name}` that others may call")
}

/// Whether a library has a function that others may call, read from its file without opening it. Nothing if the file can't be read so.
pub fn has_function(library: &[u8], name: &str) -> Option<bool> {
    let exports = object::File::parse(library).ok()?.exports().ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    // On a Mac each name of C begins with a low line.
    let names = [name.to_owned(), format!("_{name}")];
    Some(exports.iter().any(|export| names.iter().any(|name| export.name().name() == Some(name.as_bytes()))))
}

#[allow(unsafe_code)]
fn last_error() -> String {
    // SAFETY: it is null or a text that is good until the next call of these functions in this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() { "unknown".into() } else { unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned() }
}
