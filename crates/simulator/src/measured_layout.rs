//! Which layout a block has, recognized by how long its pages took to read or to program: The Harey Tortoise, section 2.2.

use serde::Serialize;

use tinytail_config::ConfigError;
use tinytail_core::device::PageClassLayout;

/// The most bits of a cell that are looked for, and so the most classes.
const CLASSES_MAX: u32 = 4;
/// Classes are distinguished if the median time of each is at least this many times that of the one before. The paper's MLC reads
/// are 1.5 apart and its programs 3.5 and more; pages of one class differ by less from chain to chain.
const APART: f64 = 1.2;
/// Pages of one class alone are alike if they are this near to their median.
const ALIKE: f64 = 1.1;
/// One in so many times may be an outlier, such as a read that was repeated.
const OUTLIER_IN: usize = 10;
/// The most pages that a block can have.
const PAGES_MAX: u32 = 16_383;

/// How long one read or program of a page took, in whatever unit all of them are in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageTime {
    /// The page's number in its block.
    pub page: u32,
    /// The time, above 0.
    pub time: f64,
}

/// A layout that measured times show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredLayout {
    /// As in the paper's Fig. 2: SLC, or MLC, TLC or QLC with A for pairs and B for single pages.
    pub name: String,
    /// The rule of device files; none where all pages are alike, so that there is nothing to lay out.
    pub layout: Option<PageClassLayout>,
    /// Median time of each class that was measured, in the unit of the times. The first is the fastest.
    pub class_times: Vec<f64>,
    /// How many times were looked at.
    pub samples: usize,
    /// How many of them are nearer to another class than to their page's.
    pub outliers: usize,
}

/// A layout that the times may show.
struct Candidate {
    layout: Option<PageClassLayout>,
    classes: Vec<u8>,
    count: u32,
}

impl Candidate {
    /// All layouts that a block of so many pages may have, with two word lines or more.
    fn all(pages: u32) -> Vec<Self> {
        let alike = Self { layout: None, classes: vec![0; pages as usize], count: 1 };
        let of = |count: u32, layout: PageClassLayout| {
            let fits = pages.is_multiple_of(layout.group(count)) && pages >= 2 * count;
            fits.then(|| Self { layout: Some(layout), classes: layout.classes(count, pages), count })
        };
        let several = (2..=CLASSES_MAX)
            .flat_map(|count| [PageClassLayout::Pairs, PageClassLayout::Single].into_iter().filter_map(move |layout| of(count, layout)));
        std::iter::once(alike).chain(several).collect()
    }

    fn name(&self) -> String {
        let cell = ["SLC", "MLC", "TLC", "QLC"][self.count as usize - 1];
        match self.layout {
            None => cell.into(),
            Some(PageClassLayout::Pairs) => format!("{cell} A"),
            Some(PageClassLayout::Single) => format!("{cell} B"),
        }
    }

    fn fit(&self, times: &[PageTime]) -> Fit<'_> {
        let medians: Vec<(u8, f64)> = (0..self.count as u8).filter_map(|class| Some((class, self.median(class, times)?))).collect();
        let (mut outliers, mut spread) = (0, 0.0);
        for sample in times {
            let own = self.classes[sample.page as usize];
            let distance = |median: f64| (sample.time / median).max(median / sample.time);
            let (nearest, _) = medians.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).expect("its own class has a median");
            let (_, median) = medians.iter().find(|(class, _)| *class == own).expect("its own class has a median");
            outliers += usize::from(*nearest != own || (medians.len() == 1 && distance(*median) > ALIKE));
            spread += libm::log(distance(*median));
        }
        Fit { candidate: self, medians: medians.into_iter().map(|(_, median)| median).collect(), outliers, spread }
    }

    /// The lower median of the times of a class; none if it was not measured.
    fn median(&self, class: u8, times: &[PageTime]) -> Option<f64> {
        let mut of_class: Vec<f64> =
            times.iter().filter(|sample| self.classes[sample.page as usize] == class).map(|sample| sample.time).collect();
        of_class.sort_by(f64::total_cmp);
        of_class.get(of_class.len().checked_sub(1)? / 2).copied()
    }
}

/// How well a candidate explains times.
struct Fit<'a> {
    candidate: &'a Candidate,
    /// The median time of each class that was measured.
    medians: Vec<f64>,
    /// Times that are nearer to another class.
    outliers: usize,
    /// Sum of the distances to the medians of their classes. Layouts that group the measured pages alike have the same.
    spread: f64,
}

impl Fit<'_> {
    fn is_apart(&self) -> bool {
        self.medians.windows(2).all(|pair| pair[1] >= pair[0] * APART)
    }
}

/// Names the layout of blocks of `pages` pages from the times of some of them, measured once or several times each, in any
/// order. Reads and programs show the same layout, and must not be mixed.
///
/// # Errors
/// Times that are none, pages that a block does not have, times that fit no known layout, and times that fit two alike because
/// too few pages were measured.
pub fn measured_layout(pages: u32, times: &[PageTime]) -> Result<MeasuredLayout, ConfigError> {
    if !(2..=PAGES_MAX).contains(&pages) {
        return Err(ConfigError::new(format!("a block of {pages} pages; expected 2 to {PAGES_MAX}")));
    }
    for sample in times {
        if sample.page >= pages {
            return Err(ConfigError::new(format!("page {} of a block of {pages} pages; expected 0 to {}", sample.page, pages - 1)));
        }
        if !(sample.time > 0.0 && sample.time.is_finite()) {
            return Err(ConfigError::new(format!("page {} took a time of {}; expected a number above 0", sample.page, sample.time)));
        }
    }
    if times.len() < 2 {
        return Err(ConfigError::new(format!("{} times were given; expected those of two pages or more", times.len())));
    }
    let candidates = Candidate::all(pages);
    let mut fits: Vec<Fit<'_>> = candidates.iter().map(|candidate| candidate.fit(times)).filter(Fit::is_apart).collect();
    fits.sort_by_key(|fit| fit.outliers);
    let nearest = fits.first().map_or_else(String::new, |fit| {
        format!("; the nearest is {}, with {} of {} times in another class", fit.candidate.name(), fit.outliers, times.len())
    });
    fits.retain(|fit| fit.outliers * OUTLIER_IN <= times.len());
    // Of layouts that explain the times equally well the simplest stays first. A coarse one may have no more outliers than one
    // that tells more classes apart.
    fits.sort_by(|a, b| a.spread.total_cmp(&b.spread).then(a.candidate.count.cmp(&b.candidate.count)));
    let Some(found) = fits.first() else {
        return Err(ConfigError::new(format!("the times fit no layout that is known for blocks of {pages} pages{nearest}")));
    };
    if let Some(rival) = fits[1..].iter().find(|fit| fit.spread.total_cmp(&found.spread).is_eq()) {
        let differ = |&page: &usize| found.candidate.classes[page] != rival.candidate.classes[page];
        let hint = (0..pages as usize).find(differ).map_or_else(
            || "in a block of so few pages they are the same".into(),
            |page| format!("measure more pages, among them page {page}, the first in which they differ"),
        );
        let (found, rival) = (found.candidate.name(), rival.candidate.name());
        return Err(ConfigError::new(format!("the times fit {found} and {rival} alike; {hint}")));
    }
    Ok(MeasuredLayout {
        name: found.candidate.name(),
        layout: found.candidate.layout,
        class_times: found.medians.clone(),
        samples: times.len(),
        outliers: found.outliers,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::PageClassLayout::{Pairs, Single};
    use super::*;

    fn of_classes(classes: &[u8], times: &[f64]) -> Vec<PageTime> {
        (0..).zip(classes).map(|(page, &class)| PageTime { page, time: times[usize::from(class)] }).collect()
    }

    fn block(layout: PageClassLayout, pages: u32, times: &[f64]) -> Vec<PageTime> {
        of_classes(&layout.classes(times.len() as u32, pages), times)
    }

    fn found(pages: u32, times: &[PageTime]) -> (String, Option<PageClassLayout>, Vec<f64>) {
        let MeasuredLayout { name, layout, class_times, .. } = measured_layout(pages, times).unwrap();
        (name, layout, class_times)
    }

    fn refused(pages: u32, times: &[PageTime]) -> String {
        measured_layout(pages, times).unwrap_err().to_string()
    }

    #[test]
    fn the_papers_reads_and_programs_name_its_layouts() {
        for times in [[27.0, 40.0], [253.0, 1359.0]] {
            assert_eq!(found(128, &block(Pairs, 128, &times)), ("MLC A".into(), Some(Pairs), times.to_vec()));
            assert_eq!(found(128, &block(Single, 128, &times)), ("MLC B".into(), Some(Single), times.to_vec()));
        }
        let tlc = [300.0, 900.0, 2500.0];
        assert_eq!(found(384, &block(Pairs, 384, &tlc)), ("TLC A".into(), Some(Pairs), tlc.to_vec()));
        assert_eq!(found(384, &block(Single, 384, &tlc)), ("TLC B".into(), Some(Single), tlc.to_vec()));
        assert_eq!(found(64, &of_classes(&[0; 64], &[250.0])), ("SLC".into(), None, vec![250.0]));
    }

    #[test]
    fn slow_pages_may_differ_from_chain_to_chain() {
        // The even chain's slow pages are a third slower, as most of the variation in the paper's Fig. 1 is.
        let mut times = block(Pairs, 128, &[253.0, 1200.0]);
        times.iter_mut().filter(|sample| sample.page % 2 == 0 && sample.time > 1000.0).for_each(|sample| sample.time *= 1.33);
        assert_eq!(found(128, &times).0, "MLC A");
        // And those of an SLC chip may be a little slower without being a class.
        let mut times = of_classes(&[0; 128], &[250.0]);
        times.iter_mut().filter(|sample| sample.page % 2 == 0).for_each(|sample| sample.time *= 1.08);
        assert_eq!(found(128, &times).0, "SLC");
    }

    #[test]
    fn a_few_reads_are_enough_if_they_tell() {
        let all = block(Pairs, 128, &[27.0, 40.0]);
        assert_eq!(found(128, &all[..11]).0, "MLC A");
        let all = block(Single, 128, &[27.0, 40.0]);
        assert_eq!(found(128, &all[..6]).0, "MLC B");
        // In a block of 384 pages the first six may be those of either cell.
        let all = block(Pairs, 384, &[27.0, 40.0]);
        let message = refused(384, &all[..6]);
        assert!(message.contains("MLC A and TLC A alike") && message.contains("page 10,"), "{message}");
        assert_eq!(found(384, &all[..24]).0, "MLC A");
        let message = refused(128, &all[..2]);
        assert!(message.contains("SLC and MLC A alike; measure more pages, among them page 4,"), "{message}");
    }

    #[test]
    fn blocks_of_so_few_pages_that_layouts_are_the_same_are_said() {
        let message = refused(4, &block(Single, 4, &[27.0, 40.0]));
        assert!(message.contains("MLC A and MLC B alike; in a block of so few pages they are the same"), "{message}");
    }

    #[test]
    fn what_no_layout_explains_is_refused_with_the_nearest() {
        let turns: Vec<u8> = (0..128).map(|page| (page / 4 % 2) as u8).collect();
        let message = refused(128, &of_classes(&turns, &[27.0, 40.0]));
        assert!(message.contains("fit no layout that is known for blocks of 128 pages"), "{message}");
        // Slow pages first.
        let message = refused(128, &block(Pairs, 128, &[40.0, 27.0]));
        assert!(message.contains("fit no layout"), "{message}");
        // An MLC pattern in a block that it does not fit.
        let message = refused(127, &block(Single, 128, &[27.0, 40.0])[..127]);
        assert!(message.contains("fit no layout"), "{message}");
    }

    #[test]
    fn faulty_times_are_named() {
        let good = block(Pairs, 8, &[27.0, 40.0]);
        assert!(refused(8, &good[..1]).contains("1 times were given"));
        assert!(refused(1, &good).contains("a block of 1 pages"));
        assert!(refused(6, &good).contains("page 6 of a block of 6 pages; expected 0 to 5"));
        for time in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut bad = good.clone();
            bad[3].time = time;
            assert!(refused(8, &bad).contains("page 3 took a time of"), "{time}");
        }
    }

    proptest! {
        /// Whatever layout a block has, noisy times with some outliers name it, in any order.
        #[test]
        fn noisy_times_name_the_layout(
            count in 1_u32..=4,
            pairs in any::<bool>(),
            lines in 8_u32..60,
            times in prop::collection::vec((0.95_f64..1.05, 0_u8..25), 480),
            turn in 0_usize..400,
        ) {
            let layout = if pairs { Pairs } else { Single };
            let pages = 2 * lines * count;
            let scale: Vec<f64> = (0..count).map(|class| 100.0 * 1.5_f64.powi(class as i32)).collect();
            let mut measured = block(layout, pages, &scale);
            let most = measured.len() / OUTLIER_IN;
            let mut repeated = 0;
            for (sample, (noise, odd)) in measured.iter_mut().zip(&times) {
                sample.time *= noise;
                if *odd == 0 && repeated < most {
                    // A read that took several attempts.
                    sample.time *= 20.0;
                    repeated += 1;
                }
            }
            let turn = turn % measured.len();
            measured.rotate_left(turn);
            let found = measured_layout(pages, &measured).unwrap();
            let cell = ["SLC", "MLC", "TLC", "QLC"][count as usize - 1];
            let name = if count == 1 { cell.into() } else { format!("{cell} {}", if pairs { 'A' } else { 'B' }) };
            prop_assert_eq!(found.name, name);
            prop_assert!(found.outliers <= repeated);
        }
    }
}
