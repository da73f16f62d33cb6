//! The table in the file: columns, row groups, encodings.

use super::Batch;
use super::file::{Unfinished, reason};
use super::zeroes::Zeroes;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};
use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::{Completion, PART_NAMES, PARTS};

/// Rows of a row group, which is what the table keeps in memory.
pub(super) const GROUP: usize = 1 << 15;

/// Bytes of different values of a part up to which they stay in a dictionary.
const DICTIONARY_BYTES: usize = 1 << 15;

/// Columns of 64-bit numbers before the parts of the attribution.
const NUMBERS: [&str; 7] = ["id", "sector", "asked_ns", "arrived_ns", "completed_ns", "latency_ns", "host_queue_ns"];

/// The columns that count pages of reads behind a GC.
const AROUND_GC: [&str; 3] = ["reconstructed", "gc_waits", "gc_waits_forced"];

/// What the table is written to.
pub(super) type Output = Box<dyn Write + Send>;

/// A table under way.
pub(super) struct Table {
    writer: SerializedFileWriter<Output>,
    file: Unfinished,
    rows: usize,
    requests: u64,
    kinds: Vec<ByteArray>,
    read: ByteArray,
    write: ByteArray,
    trim: ByteArray,
    numbers: [Vec<i64>; NUMBERS.len()],
    sectors: Vec<i32>,
    gc_blocked: Vec<bool>,
    queue_blocked: Vec<bool>,
    /// What became of pages behind a GC, in the order of `AROUND_GC`, and since when.
    around_gc: [Vec<i32>; AROUND_GC.len()],
    gc_wait_since: Vec<i64>,
    /// Nanoseconds of each part in each row of the group. A part that no row has is all zeroes and has never been touched.
    parts: Vec<Vec<i64>>,
    /// The parts that some row of the group has.
    mask: u64,
    properties: WriterPropertiesPtr,
    /// For each part, once it is needed, a group's worth of zeroes.
    zeroes: Vec<Option<Zeroes>>,
}

impl Table {
    /// Makes the file.
    pub(super) fn create(path: &Path) -> Result<Self, String> {
        let (file, handle) = Unfinished::create(path).map_err(|error| reason(&error))?;
        Self::on(file, Box::new(handle))
    }

    /// A table of a file, written to `output`.
    pub(super) fn on(file: Unfinished, output: Output) -> Result<Self, String> {
        let schema = parse_message_type(&schema()).map_err(|error| why(&error))?;
        let properties = Arc::new(properties());
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::clone(&properties)).map_err(|error| why(&error))?;
        Ok(Self {
            writer,
            file,
            rows: 0,
            requests: 0,
            kinds: Vec::with_capacity(GROUP),
            // Static, because copies of these need no counting.
            read: Bytes::from_static(b"read").into(),
            write: Bytes::from_static(b"write").into(),
            trim: Bytes::from_static(b"trim").into(),
            numbers: std::array::from_fn(|_| Vec::with_capacity(GROUP)),
            sectors: Vec::with_capacity(GROUP),
            gc_blocked: Vec::with_capacity(GROUP),
            queue_blocked: Vec::with_capacity(GROUP),
            around_gc: std::array::from_fn(|_| Vec::with_capacity(GROUP)),
            gc_wait_since: Vec::with_capacity(GROUP),
            parts: vec![vec![0; GROUP]; PARTS],
            mask: 0,
            properties,
            zeroes: std::iter::repeat_with(|| None).take(PARTS).collect(),
        })
    }

    /// Appends requests, and writes a row group when it is full.
    pub(super) fn append(&mut self, batch: &Batch) -> Result<(), String> {
        let mut parts = batch.parts.iter();
        for (completion, &mask) in batch.completions.iter().zip(&batch.masks) {
            let kind = match completion.kind {
                CommandKind::Read => &self.read,
                CommandKind::Write => &self.write,
                CommandKind::Trim => &self.trim,
            };
            self.kinds.push(kind.clone());
            self.sectors.push(completion.sectors as i32);
            self.gc_blocked.push(completion.gc_blocked);
            self.queue_blocked.push(completion.queue_blocked());
            let pages = [completion.reconstructed, completion.gc_waits, completion.gc_waits_forced];
            for (column, pages) in self.around_gc.iter_mut().zip(pages) {
                column.push(pages.into());
            }
            self.gc_wait_since.push(completion.gc_wait_since as i64);
            let latency = completion.completed - completion.arrived;
            let Completion { id, sector, asked, arrived, completed, host_queue_ns, .. } = *completion;
            let row = [id, sector, asked, arrived, completed, latency, host_queue_ns];
            for (column, value) in self.numbers.iter_mut().zip(row) {
                column.push(value as i64);
            }
            self.mask |= mask;
            let mut left = mask;
            while left != 0 {
                let ns = parts.next().expect("nanoseconds for each bit of the mask");
                self.parts[left.trailing_zeros() as usize][self.rows] = *ns as i64;
                left &= left - 1;
            }
            self.rows += 1;
            if self.rows == GROUP {
                self.write_group().map_err(|error| why(&error))?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let columns: Vec<ColumnDescPtr> = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group()?;
        let [ids, first_sectors, asked, arrived, completed, latencies, host_queue] = &self.numbers;
        column::<Int64Type>(&mut group, ids)?;
        column::<ByteArrayType>(&mut group, &self.kinds)?;
        column::<Int64Type>(&mut group, first_sectors)?;
        column::<Int32Type>(&mut group, &self.sectors)?;
        for times in [asked, arrived, completed, latencies, host_queue] {
            column::<Int64Type>(&mut group, times)?;
        }
        column::<BoolType>(&mut group, &self.gc_blocked)?;
        column::<BoolType>(&mut group, &self.queue_blocked)?;
        for pages in &self.around_gc {
            column::<Int32Type>(&mut group, pages)?;
        }
        column::<Int64Type>(&mut group, &self.gc_wait_since)?;
        let first_part = columns.len() - PARTS;
        for (part, values) in self.parts.iter().enumerate() {
            if self.mask >> part & 1 == 1 || self.rows < GROUP {
                column::<Int64Type>(&mut group, &values[..self.rows])?;
                continue;
            }
            let zeroes = match &mut self.zeroes[part] {
                Some(zeroes) => zeroes,
                none => none.insert(Zeroes::encode(Arc::clone(&columns[first_part + part]), Arc::clone(&self.properties), GROUP)?),
            };
            zeroes.append(&mut group)?;
        }
        group.close()?;
        self.requests += self.rows as u64;
        self.kinds.clear();
        self.sectors.clear();
        self.gc_blocked.clear();
        self.queue_blocked.clear();
        self.around_gc.iter_mut().for_each(Vec::clear);
        self.gc_wait_since.clear();
        self.numbers.iter_mut().for_each(Vec::clear);
        for (part, values) in self.parts.iter_mut().enumerate() {
            if self.mask >> part & 1 == 1 {
                values[..self.rows].fill(0);
            }
        }
        (self.rows, self.mask) = (0, 0);
        Ok(())
    }

    /// Writes what is left, and `about`, and gives the file its name. Returns its requests and bytes.
    pub(super) fn finish(mut self, about: Vec<(String, String)>) -> Result<(u64, u64), String> {
        let written = (|| {
            if self.rows > 0 {
                self.write_group()?;
            }
            for (key, value) in about {
                self.writer.append_key_value_metadata(KeyValue::new(key, value));
            }
            self.writer.finish()
        })();
        written.map_err(|error| why(&error))?;
        let bytes = self.writer.bytes_written() as u64;
        self.file.finish().map_err(|error| reason(&error))?;
        Ok((self.requests, bytes))
    }
}

/// Writes one column of the group.
fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, Output>, values: &[T::T]) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// The columns, in Parquet's own notation. All are required: a mean over nulls would leave them out, and be wrong.
fn schema() -> String {
    let mut schema = String::from(
        "message request {
            required int64 id;
            required binary kind (string);
            required int64 sector;
            required int32 sectors;
            required int64 asked_ns;
            required int64 arrived_ns;
            required int64 completed_ns;
            required int64 latency_ns;
            required int64 host_queue_ns;
            required boolean gc_blocked;
            required boolean queue_blocked;\n",
    );
    for pages in AROUND_GC {
        writeln!(schema, "required int32 {pages};").expect("a string has room");
    }
    schema += "required int64 gc_wait_since_ns;\n";
    for part in PART_NAMES {
        writeln!(schema, "required int64 {part}_ns;").expect("a string has room");
    }
    schema + "}"
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("a level that there is")))
        .set_created_by(concat!("tinytail ", env!("CARGO_PKG_VERSION")).into())
        .set_write_batch_size(8192)
        .set_data_page_row_count_limit(GROUP)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for number in NUMBERS {
        // These hardly repeat; what repeats are their differences.
        let path = ColumnPath::from(number);
        properties = properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    for part in PART_NAMES {
        // Service times are a few constants, for a dictionary; waits can be anything, and soon leave it for differences.
        let path = ColumnPath::from(format!("{part}_ns"));
        properties = properties
            .set_column_statistics_enabled(path.clone(), EnabledStatistics::None)
            .set_column_dictionary_page_size_limit(path.clone(), DICTIONARY_BYTES)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// What went wrong, without the library's own words where the system has some.
pub(crate) fn why(error: &ParquetError) -> String {
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(system) => reason(system),
        None => error.to_string(),
    }
}
