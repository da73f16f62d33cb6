//! Columns of nothing but zeroes, encoded once.
//!
//! Of the many parts of the attribution a run has only some. Encoding the others again for every row group would take most of the
//! writer's time, so their first chunk is kept, a few dozen bytes, and put into each group as it is.

use super::table::Output;
use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// A chunk of one column that holds a fixed number of zeroes.
pub(super) struct Zeroes {
    bytes: Bytes,
    rows: u64,
    metadata: ColumnChunkMetaData,
}

impl Zeroes {
    /// Encodes a chunk.
    pub(super) fn encode(column: ColumnDescPtr, properties: WriterPropertiesPtr, rows: usize) -> Result<Self, ParquetError> {
        let mut output = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut output));
        let mut writer = ColumnWriterImpl::<Int64Type>::new(column, properties, pages);
        writer.write_batch(&vec![0; rows], None, None)?;
        let ColumnCloseResult { metadata, .. } = writer.close()?;
        Ok(Self { bytes: output.into_inner()?.into(), rows: rows as u64, metadata })
    }

    /// Appends the chunk as the next column of a row group.
    pub(super) fn append(&self, group: &mut SerializedRowGroupWriter<'_, Output>) -> Result<(), ParquetError> {
        let close = ColumnCloseResult {
            bytes_written: self.bytes.len() as u64,
            rows_written: self.rows,
            metadata: self.metadata.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&self.bytes, close)
    }
}
