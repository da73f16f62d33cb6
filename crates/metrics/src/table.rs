//! Small tables in Parquet, written at once.

use crate::log::file::{Unfinished, reason};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group.
const GROUP: usize = 1 << 17;

/// A column of a table.
#[derive(Debug)]
pub(crate) enum Column {
    /// Of 64-bit numbers.
    Numbers(Vec<i64>),
    /// Of a few different words.
    Words(Vec<&'static str>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Words(words) => words.len(),
        }
    }
}

/// Writes a table of named columns, all of one length. The file is whole or not there at all.
pub(crate) fn write_table(path: &Path, row: &str, columns: &[(&str, Column)], about: &[(String, String)]) -> Result<(), String> {
    let (file, handle) = Unfinished::create(path).map_err(|error| reason(&error))?;
    write(handle, row, columns, about).map_err(|error| crate::log::table::why(&error))?;
    file.finish().map_err(|error| reason(&error))
}

fn write(handle: std::fs::File, row: &str, columns: &[(&str, Column)], about: &[(String, String)]) -> Result<(), ParquetError> {
    let mut schema = format!("message {row} {{\n");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_created_by(concat!("tinytail ", env!("CARGO_PKG_VERSION")).into());
    for (name, column) in columns {
        let kind = match column {
            Column::Numbers(_) => "int64",
            Column::Words(_) => "binary",
        };
        let note = if kind == "binary" { " (string)" } else { "" };
        writeln!(schema, "required {kind} {name}{note};").expect("a string has room");
        if kind == "int64" {
            let path = ColumnPath::from(*name);
            properties =
                properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    schema += "}";
    let mut writer = SerializedFileWriter::new(handle, Arc::new(parse_message_type(&schema)?), Arc::new(properties.build()))?;
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    for from in (0..rows).step_by(GROUP) {
        let to = (from + GROUP).min(rows);
        let mut group = writer.next_row_group()?;
        for (_, values) in columns {
            let mut column = group.next_column()?.expect("as many columns as the schema has");
            match values {
                Column::Numbers(numbers) => column.typed::<Int64Type>().write_batch(&numbers[from..to], None, None)?,
                Column::Words(words) => {
                    let words: Vec<ByteArray> = words[from..to].iter().map(|word| Bytes::from_static(word.as_bytes()).into()).collect();
                    column.typed::<ByteArrayType>().write_batch(&words, None, None)?
                }
            };
            column.close()?;
        }
        group.close()?;
    }
    for (key, value) in about {
        writer.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
    }
    writer.finish().map(|_| ())
}
