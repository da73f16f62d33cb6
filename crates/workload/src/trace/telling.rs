//! Which lines of a table are requests of their own to the drive. A table may have a line for each event of a request, or lines of
//! requests that a cache has answered or that have failed.

use crate::text;
use crate::trace::mapping::Role;
use crate::trace::proposal::{Head, Roles};

/// A column with more different values than these does not tell which lines are requests.
const VALUES_MAX: usize = 8;

/// Values longer than this tell nothing.
const VALUE_BYTES_MAX: usize = 40;

/// A column that may tell which lines are requests.
struct Teller {
    index: usize,
    /// As messages have it.
    said: String,
    /// Its values in the order of their first lines.
    values: Vec<String>,
    /// The one that requests have most likely.
    kept: String,
}

/// What tells which lines are requests.
pub(super) struct Telling {
    tellers: Vec<Teller>,
    /// How many lines there are, and how many of them repeat the operation, place and size of one before.
    lines: usize,
    repeats: usize,
}

/// Looks for what tells which lines are requests, among the columns that have no role.
pub(super) fn telling(head: &Head<'_>, roles: &Roles) -> Telling {
    let is_free = |index: &usize| !roles.iter().any(|(_, at)| at.contains(index));
    let free = (0..head.names.len()).filter(is_free);
    let groups = groups(head, roles);
    let (lines, repeats) = (head.rows.len(), head.rows.len() - groups.len());
    let is_repeated = repeats * 5 >= lines * 2;
    // What differs among the lines of one request tells them apart. Some requests are made twice.
    let differs = |index: usize| {
        let repeated = groups.iter().filter(|rows| rows.len() > 1);
        let apart = |rows: &&Vec<usize>| values(rows.iter().map(|row| head.rows[*row][index].as_str())).len() == rows.len();
        repeated.clone().filter(apart).count() * 4 >= repeated.count() * 3
    };
    let mut tellers: Vec<(bool, Teller)> = free
        .filter_map(|index| {
            let values = values(head.column(index));
            let tells = is_repeated && repeats > 0 && values.len() > 1 && differs(index);
            let is_one = (tells || head.names[index].tells_lines || head.names[index].is_host && values.len() > 1)
                && (values.len() <= VALUES_MAX || head.names[index].is_host)
                && values.iter().all(|value| !value.is_empty() && value.len() <= VALUE_BYTES_MAX);
            let kept = kept(head.title(index), &values)?;
            is_one.then(|| (tells, Teller { index, said: head.said_with_number(index), values, kept }))
        })
        .collect();
    // Where one tells the lines of a request apart, the others are of no use, but where the lines that are left differ.
    tellers.sort_by_key(|(tells, teller)| (!tells, teller.values.len() < 2, teller.index));
    let mut chosen: Vec<Teller> = Vec::new();
    let mut explained = false;
    for (tells, mut teller) in tellers {
        let is_left = |row: &&Vec<String>| chosen.iter().all(|before| row[before.index] == before.kept);
        let left: Vec<String> = values(head.rows.iter().filter(is_left).map(|row| row[teller.index].as_str()));
        let is_named = head.names[teller.index].tells_lines || head.names[teller.index].is_host;
        if chosen.is_empty() || is_named && (left.len() > 1 || teller.values.len() == 1) && !(tells && explained) {
            if !chosen.is_empty() {
                let Some(best) = kept(head.title(teller.index), &left) else { continue };
                (teller.values, teller.kept) = (left, best);
            }
            explained |= tells;
            chosen.push(teller);
        }
    }
    Telling { tellers: chosen, lines, repeats: if is_repeated { repeats } else { 0 } }
}

/// The lines with one operation, place and size on one device, for each of them.
fn groups(head: &Head<'_>, roles: &Roles) -> Vec<Vec<usize>> {
    let what = [Role::Op, Role::Lba, Role::Len, Role::Last, Role::End, Role::Device];
    let columns: Vec<usize> = roles.iter().filter(|(role, _)| what.contains(role)).map(|(_, at)| at[0]).collect();
    let request = |row: usize| columns.iter().map(|index| head.rows[row][*index].as_str()).collect::<Vec<_>>();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in 0..head.rows.len() {
        match groups.iter_mut().find(|rows| request(rows[0]) == request(row)) {
            Some(rows) => rows.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// The different ones, in their order.
fn values<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for field in fields {
        if found.len() <= VALUES_MAX && !found.iter().any(|known| known == field) {
            found.push(field.to_owned());
        }
    }
    found
}

/// Which of these values requests have that come to the drive: their issue, a success, or a miss; or else the first.
fn kept(title: &str, values: &[String]) -> Option<String> {
    const ISSUED: [&[&str]; 5] = [
        &[
            "issue",
            "issued",
            "d",
            "submit",
            "submitted",
            "submission",
            "dispatch",
            "dispatched",
            "start",
            "started",
            "begin",
            "request",
            "req",
        ],
        &["insert", "inserted", "i", "arrive", "arrival", "enqueue"],
        &["queue", "queued", "q"],
        &["success", "successful", "succeeded", "ok", "good", "pass", "passed", "0", "none", "noerror"],
        &["complete", "completed", "done", "finished"],
    ];
    const MISSED: [&[&str]; 1] = [&["miss", "missed", "0", "false", "no", "n", "f"]];
    const DONE: [&[&str]; 1] = [&["1", "true", "yes", "y", "t", "success", "ok", "miss"]];
    let title = title.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| title.contains(word));
    let ranks: &[&[&str]] = match () {
        () if has(&["hit", "cached"]) => &MISSED,
        () if has(&["miss", "success"]) => &DONE,
        () => &ISSUED,
    };
    let is_one = |value: &String, words: &[&str]| {
        let value = value.to_lowercase();
        value.split(|letter: char| !letter.is_alphanumeric()).any(|word| words.contains(&word))
    };
    ranks.iter().find_map(|words| values.iter().find(|value| is_one(value, words))).or(values.first()).cloned()
}

impl Telling {
    /// The columns, and the values in them of lines that are read.
    pub(super) fn keeps(&self) -> Vec<(usize, String)> {
        self.tellers.iter().map(|teller| (teller.index, teller.kept.clone())).collect()
    }

    /// The same, without those that leave out lines that are there.
    pub(super) fn single(&self) -> Vec<(usize, String)> {
        self.tellers.iter().filter(|teller| teller.values.len() == 1).map(|teller| (teller.index, teller.kept.clone())).collect()
    }

    /// What a mapping does.
    pub(super) fn verb(&self) -> String {
        let kept: Vec<String> = self.tellers.iter().map(|teller| text::quoted(&teller.kept)).collect();
        if kept.is_empty() { "reads it".into() } else { format!("reads the lines with {}", text::listed(&kept)) }
    }

    /// A way to read a table, and before it what it depends on, if that is to be asked; `all` reads all lines.
    pub(super) fn asked(&self, way: &str, all: &str) -> String {
        let asked: Vec<String> = self
            .tellers
            .iter()
            .filter(|teller| teller.values.len() > 1)
            .map(|teller| {
                let values: Vec<String> = teller.values.iter().map(|value| text::quoted(value)).collect();
                format!("{} has {}", teller.said, text::listed(&values))
            })
            .collect();
        let repeats = format!("{} of its first {} lines repeat operation, place and size of one before", self.repeats, self.lines);
        match (asked.is_empty(), self.repeats) {
            (true, 0) => way.to_owned(),
            (true, _) => format!("{repeats}, and no column says why. If each line is a request of its own, {way}"),
            (false, repeated) => {
                let repeats = if repeated > 0 { format!(", and {repeats}") } else { String::new() };
                format!(
                    "{}{repeats}: is each line a request of its own to the drive? If not, {way}. If so, {all} reads all",
                    text::listed(&asked)
                )
            }
        }
    }
}
