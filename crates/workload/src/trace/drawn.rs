//! Tables that are drawn with lines between their columns, as Markdown, mysql and psql write them, and the command that makes them CSV.

use crate::trace::header::Preamble;
use crate::trace::opening::FirstLines;
use crate::trace::proposal;

/// The letters that are between columns.
const UPRIGHT: [char; 4] = ['|', '│', '║', '┃'];

/// What the lines above and below rows are of.
const BORDER: &str = "-+=|:│║┃─━═┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝╠╣╦╩╬╞╡╪┏┓┗┛┣┫┳┻╋┡┩╇";

/// Whether a line is nothing but a border.
fn is_border(line: &str) -> bool {
    let line = line.trim();
    line.chars().count() >= 3 && line.chars().all(|letter| BORDER.contains(letter) || letter == ' ')
}

/// The fields of a row.
fn row(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix(UPRIGHT)?.strip_suffix(UPRIGHT)?;
    Some(inner.split(UPRIGHT).map(str::trim).collect())
}

/// What a text with these first lines is, and what can be done with it, if it is a drawn table. `file` is its name as a shell takes it.
pub(super) fn table(lines: &[String], file: &str) -> Option<(&'static str, String)> {
    let rows: Vec<Vec<&str>> = lines.iter().filter(|line| !is_border(line)).filter_map(|line| row(line)).collect();
    let borders = lines.iter().filter(|line| is_border(line)).count();
    if borders == 0 || rows.len() < 2 || rows.iter().any(|row| row.len() < 3) {
        return None;
    }
    let csv: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    let preamble = Preamble::of(&csv, &[]);
    let first = FirstLines { lines: csv, ..FirstLines::default() };
    let reading =
        proposal::proposal(&first, &preamble, None, None).map_or_else(|| "which --columns reads".into(), |said| format!("and {said}"));
    // What has no letter and no digit, or nothing between its columns, is no row.
    let upright = UPRIGHT.map(|letter| if letter == '|' { "\\|".to_owned() } else { letter.to_string() }).join("|");
    let program = format!("/[[:alnum:]]/!d; /{upright}/!d; s/^ *({upright}) *//; s/ *({upright}) *$//; s/ *({upright}) */,/g");
    Some(("a table that is drawn with lines", format!("`sed -E '{program}' {file} > {file}.csv` writes it as CSV, {reading}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_table_is_cut_at_its_lines() {
        let markdown =
            "| ts_us | op | offset_bytes | size_bytes |\n|:---|---:|---|---|\n| 2500 | R | 5300224 | 4096 |\n| 2980 | W | 0 | 512 |\n";
        let mysql = "+-------+----+--------------+------------+\n| ts_us | op | offset_bytes | size_bytes |\n\
                     +-------+----+--------------+------------+\n|  2500 | R  |      5300224 |       4096 |\n\
                     |  2980 | W  |            0 |        512 |\n+-------+----+--------------+------------+\n2 rows in set (0.00 sec)\n";
        let boxed = "┌───────┬────┬──────────────┬────────────┐\n│ ts_us │ op │ offset_bytes │ size_bytes │\n\
                     ├───────┼────┼──────────────┼────────────┤\n│  2500 │ R  │      5300224 │       4096 │\n\
                     │  2980 │ W  │            0 │        512 │\n└───────┴────┴──────────────┴────────────┘\n";
        for content in [markdown, mysql, boxed] {
            let lines: Vec<String> = content.lines().map(str::to_owned).collect();
            let (_, how) = table(&lines, "f").unwrap();
            assert!(how.ends_with("writes it as CSV, and --columns time:us,op,lba:bytes,len:bytes reads it"), "{how}");
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("f"), content).unwrap();
            let command = how.split('`').nth(1).unwrap();
            let run = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.path()).status().unwrap();
            assert!(run.success(), "{command}");
            let written = std::fs::read_to_string(folder.path().join("f.csv")).unwrap();
            assert_eq!(written, "ts_us,op,offset_bytes,size_bytes\n2500,R,5300224,4096\n2980,W,0,512\n");
        }
        for lines in [&["a|b|c", "1|2|3"][..], &["-----", "hello"], &["|a|b|c|", "|1|2|3|"], &[]] {
            assert!(table(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), "f").is_none(), "{lines:?}");
        }
    }
}
