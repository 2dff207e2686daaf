import type { FileHandle } from 'node:fs/promises'
import { constants, createInflateRaw } from 'node:zlib'
import {
  type Entry,
  fromRandomAccessReaderPromise,
  RandomAccessReader,
  validateFileName,
  type ZipFile,
} from 'yauzl'
import { readBytes } from './read-bytes'

// The first two limits are about twice what a very large workbook needs. A workbook with 900 sheets and a
// chart on each sheet has about 4,500 parts and a directory of 440 KB. A document has about a dozen parts.
const MOST_ENTRIES = 10_000
const MOST_DIRECTORY_BYTES = 1024 * 1024
const MOST_PART_BYTES = 64 * 1024

/** Thrown if an archive is refused. The message is for the API's client. */
export class ArchiveRefused extends Error {}

const TOO_LARGE =
  'The file has too many parts: more than 10,000, or its zip directory is larger than 1 MiB. Split the file into smaller files.'
const REPEATED_NAME = 'The file contains two parts with the same name. Open the file and save it again.'

export interface Archive {
  /** The names of all entries, in lower case. */
  names: Set<string>
  /** The start of the requested entry. Undefined if the archive has no entry with the requested name. */
  part: { start: Buffer; isWhole: boolean } | undefined
}

/**
 * Reads the names of a zip archive's entries and the first 64 KiB of the entry named `part`. The archive
 * begins at byte `start` of the file. Throws ArchiveRefused if the directory is too large or repeats a name.
 * Throws other errors if the archive is damaged.
 *
 * Reads the central directory, so that data descriptors and the order of the entries do not matter. Opens
 * only the entry `part`. The time is proportional to the size of the directory. The npm package file-type
 * would be no replacement, because it reads the entries from the front and needs the sizes in their headers.
 */
export const readArchive = async (
  file: FileHandle,
  { start, part, signal }: { start: number; part: string; signal: AbortSignal },
): Promise<Archive> => {
  const reader = new ArchiveReader(file, start)
  const size = (await findEnd(file, start)) - start
  // Leaves names undecoded. To decode a name, yauzl computes the name's checksum again for each Unicode path
  // field (0x7075) of the entry. In a hostile archive, this takes seconds of processor time.
  const zip = await fromRandomAccessReaderPromise(reader, size, { autoClose: false, decodeStrings: false })
  const { names, found } = await listEntries(zip, part, signal)
  return { names, part: found && (await readPart(zip, reader, found)) }
}

const END = 'PK\x05\x06'
const END_BYTES = 22
// How many bytes at the end of the file are searched for the end record. A comment and trailing bytes may
// follow the record.
const MOST_TAIL_BYTES = 128 * 1024

/** Returns the position where the archive ends. Excludes trailing bytes, because yauzl would refuse them. */
const findEnd = async (file: FileHandle, start: number): Promise<number> => {
  const { size } = await file.stat()
  const from = Math.max(start, size - MOST_TAIL_BYTES)
  const tail = await readBytes(file, from, size - from)
  const at = tail.lastIndexOf(END, undefined, 'latin1')
  return from + at + END_BYTES + tail.readUInt16LE(at + END_BYTES - 2)
}

const READ_AHEAD_BYTES = 16 * 1024

/**
 * Reads the file in blocks of at least 16 KiB. yauzl requests only about 50 bytes at a time, and Node.js
 * passes each read of the file to another thread.
 */
class ArchiveReader extends RandomAccessReader {
  private ahead: Buffer = Buffer.alloc(0)
  private aheadFrom = 0

  constructor(
    private readonly file: FileHandle,
    private readonly start: number,
  ) {
    super()
  }

  async readAt(position: number, length: number): Promise<Buffer> {
    const isAhead = position >= this.aheadFrom && position + length <= this.aheadFrom + this.ahead.length
    if (!isAhead) {
      this.ahead = await readBytes(this.file, this.start + position, Math.max(length, READ_AHEAD_BYTES))
      this.aheadFrom = position
    }
    const from = position - this.aheadFrom
    const bytes = this.ahead.subarray(from, from + length)
    if (bytes.length < length) throw new Error('The archive ends too early.')
    return bytes
  }

  override read(...[buffer, offset, length, position, callback]: Parameters<RandomAccessReader['read']>) {
    const copy = (bytes: Buffer) => {
      bytes.copy(buffer, offset)
      callback(null)
    }
    this.readAt(position, length).then(copy, callback)
  }
}

const HEADER_BYTES = 46

const listEntries = async (zip: ZipFile, part: string, signal: AbortSignal) => {
  if (zip.entryCount > MOST_ENTRIES) throw new ArchiveRefused(TOO_LARGE)
  const names = new Set<string>()
  let found: Entry | undefined
  let bytes = 0
  for await (const entry of zip.eachEntry()) {
    signal.throwIfAborted()
    bytes += HEADER_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
    if (bytes > MOST_DIRECTORY_BYTES) throw new ArchiveRefused(TOO_LARGE)
    // Names of parts are ASCII and case-insensitive (ECMA-376 part 2, 6.2.2). Some writers use backslashes.
    const name = entry.fileNameRaw.toString('latin1').replaceAll('\\', '/').toLowerCase()
    const error = validateFileName(name)
    if (error !== null) throw new Error(error)
    if (names.has(name)) throw new ArchiveRefused(REPEATED_NAME)
    names.add(name)
    if (name === part) found = entry
  }
  return { names, found }
}

/**
 * Returns the first 64 KiB of an entry. Throws if the entry is encrypted or compressed in an unknown way, or
 * if the size of the content differs from the size in the directory of the zip file.
 */
const readPart = async (zip: ZipFile, reader: ArchiveReader, entry: Entry): Promise<Archive['part']> => {
  if (!entry.canDecodeFileData()) throw new Error('The part is encrypted, or compressed in an unknown way.')
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true })
  const packed = await reader.readAt(fileDataStart, Math.min(entry.compressedSize, MOST_PART_BYTES))
  const start = entry.compressionMethod === 0 ? packed : await inflateStart(packed)
  if (start.length !== Math.min(entry.uncompressedSize, MOST_PART_BYTES))
    throw new Error('The size of the part differs from the size in the directory of the zip file.')
  return { start, isWhole: entry.uncompressedSize <= MOST_PART_BYTES }
}

/** Inflates the first 64 KiB of an entry. `packed` may be cut off before its end. */
const inflateStart = async (packed: Buffer): Promise<Buffer> => {
  const inflate = createInflateRaw({ chunkSize: MOST_PART_BYTES, finishFlush: constants.Z_SYNC_FLUSH })
  inflate.end(packed)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of inflate as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= MOST_PART_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, MOST_PART_BYTES)
}
