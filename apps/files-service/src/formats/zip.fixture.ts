import { crc32, deflateRawSync } from 'node:zlib'

/** A zip file of the given entries, in their order; with `descriptors` the sizes come after the bytes, as streams write them. */
export const zipOf = (entries: Record<string, string | Buffer>, { descriptors = false } = {}): Buffer => {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(entries)) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const numbers = { crc: crc32(bytes), packed: packed.length, size: bytes.length }
    const local = header({ signature: 0x04034b50, name, numbers: descriptors ? ZEROS : numbers, descriptors })
    const descriptor = descriptors ? sizes(Buffer.alloc(16), 4, numbers, 0x08074b50) : Buffer.alloc(0)
    directory.push(header({ signature: 0x02014b50, name, numbers, descriptors, offset }))
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
  return Buffer.concat([...locals, central, end])
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
}): Buffer => {
  const { signature, name, numbers, descriptors, offset } = entry
  // The directory's header has one more field in front (made by) and some behind.
  const shift = offset === undefined ? 0 : 2
  const buffer = sizes(Buffer.alloc(offset === undefined ? 30 : 46), 14 + shift, numbers, signature)
  buffer.writeUInt16LE(20, 4 + shift)
  buffer.writeUInt16LE(descriptors ? 8 : 0, 6 + shift)
  buffer.writeUInt16LE(8, 8 + shift)
  buffer.writeUInt16LE(Buffer.byteLength(name), 26 + shift)
  if (offset !== undefined) buffer.writeUInt32LE(offset, 42)
  return Buffer.concat([buffer, Buffer.from(name)])
}
