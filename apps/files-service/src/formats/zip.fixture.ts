import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  content: string | Buffer
  /** The compressed content, if it differs from the output of zlib. */
  packed?: Buffer
  /** The values of the entry in the directory. Omitted values are the true values. */
  directory?: { packed?: number; size?: number; offset?: number; extra?: Buffer; comment?: Buffer }
  /** The number of times that the directory lists the entry. */
  listed?: number
}

/**
 * Makes a zip file. With `descriptors`, the sizes of an entry follow the bytes of the entry instead of
 * preceding them.
 */
export const makeZip = (entries: Record<string, string | Buffer>, { descriptors = false } = {}): Buffer =>
  makeZipOfEntries(
    Object.entries(entries).map(([name, content]) => ({ name, content })),
    { descriptors },
  )

/** Makes a zip file whose directory may have false values. `comment` is the comment of the archive. */
export const makeZipOfEntries = (
  entries: ZipEntry[],
  { descriptors = false, comment = Buffer.alloc(0) } = {},
): Buffer => {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, directory: claims = {}, listed = 1, ...entry } of entries) {
    const bytes = Buffer.from(content)
    const packed = entry.packed ?? deflateRawSync(bytes, { level: 9 })
    const numbers = { crc: crc32(bytes), packed: packed.length, size: bytes.length }
    const local = header({ signature: 0x04034b50, name, numbers: descriptors ? ZEROS : numbers, descriptors })
    const descriptor = descriptors ? sizes(Buffer.alloc(16), 4, numbers, 0x08074b50) : Buffer.alloc(0)
    const central = header({
      signature: 0x02014b50,
      name,
      numbers: { ...numbers, ...claims },
      descriptors,
      offset: claims.offset ?? offset,
      extra: claims.extra,
      comment: claims.comment,
    })
    for (let times = 0; times < listed; times += 1) directory.push(central)
    locals.push(local, packed, descriptor)
    offset += local.length + packed.length + descriptor.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(directory.length, 8)
  end.writeUInt16LE(directory.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...locals, central, end, comment])
}

interface Numbers {
  crc: number
  packed: number
  size: number
}

const ZEROS: Numbers = { crc: 0, packed: 0, size: 0 }

const sizes = (buffer: Buffer, at: number, numbers: Numbers, signature: number): Buffer => {
  buffer.writeUInt32LE(signature, 0)
  buffer.writeUInt32LE(numbers.crc, at)
  buffer.writeUInt32LE(numbers.packed, at + 4)
  buffer.writeUInt32LE(numbers.size, at + 8)
  return buffer
}

const header = (entry: {
  signature: number
  name: string
  numbers: Numbers
  descriptors: boolean
  offset?: number
  extra?: Buffer | undefined
  comment?: Buffer | undefined
}): Buffer => {
  const { signature, name, numbers, descriptors, offset } = entry
  const { extra = Buffer.alloc(0), comment = Buffer.alloc(0) } = entry
  // A header in the directory has the field `version made by`, all fields of a local header, and a few more
  // fields at the end. `version made by` shifts the fields of the local header by two bytes.
  const shift = offset === undefined ? 0 : 2
  const buffer = sizes(Buffer.alloc(offset === undefined ? 30 : 46), 14 + shift, numbers, signature)
  buffer.writeUInt16LE(20, 4 + shift)
  buffer.writeUInt16LE(descriptors ? 8 : 0, 6 + shift)
  buffer.writeUInt16LE(8, 8 + shift)
  buffer.writeUInt16LE(Buffer.byteLength(name), 26 + shift)
  buffer.writeUInt16LE(extra.length, 28 + shift)
  if (offset !== undefined) {
    buffer.writeUInt16LE(comment.length, 32)
    buffer.writeUInt32LE(offset, 42)
  }
  return Buffer.concat([buffer, Buffer.from(name), extra, comment])
}
