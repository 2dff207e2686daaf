import {
  DownloadResponse,
  FilesServiceDefinition as Generated,
  UploadRequest,
} from './generated/leadwire/files/v1/files_service'

type Chunk = { $case: 'chunk'; value: Buffer }

interface ChunkedMessage<T> {
  encode(message: T): { finish(): Uint8Array }
  decode(bytes: Uint8Array): T
}

// Field 2, length-delimited: where both messages have their bytes.
const CHUNK_TAG = 0x12

const chunkHead = (length: number): number[] => {
  const head = [CHUNK_TAG]
  let left = length
  for (; left > 0x7f; left >>>= 7) head.push((left & 0x7f) | 0x80)
  head.push(left)
  return head
}

/**
 * The message `chunk` alone makes, in one allocation and one copy of its bytes. As an ArrayBuffer, because nice-grpc takes
 * every message through `Buffer.from`, which copies anything else.
 */
const encodeChunk = (chunk: Buffer): ArrayBufferLike => {
  const head = chunkHead(chunk.length)
  const message = Buffer.allocUnsafeSlow(head.length + chunk.length)
  message.set(head)
  message.set(chunk, head.length)
  return message.buffer
}

/** A message of an upload as parts to be sent one after the other; a chunk is a part as it is. */
export const uploadRequestParts = (message: UploadRequest): Uint8Array[] =>
  message.part?.$case === 'chunk'
    ? [Buffer.from(chunkHead(message.part.value.length)), message.part.value]
    : [UploadRequest.encode(message).finish()]

/** The bytes of a message that is one chunk and nothing else, not copied; undefined for any other. */
const decodeChunk = (message: Uint8Array): Buffer | undefined => {
  if (message[0] !== CHUNK_TAG) return undefined
  let length = 0
  let at = 1
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = message[at] ?? 0
    at += 1
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  if (at + length !== message.length) return undefined
  return Buffer.from(message.buffer, message.byteOffset + at, length)
}

/**
 * What ts-proto generates copies a chunk of 64 KiB into a buffer of 128 KiB that is first filled with zeros, copies that
 * again, and copies it a third time when it is read: garbage collection was more than half of an upload's processor
 * time at both ends. The wire format is the same.
 */
const withLeanChunks = <T extends { part: Chunk | { $case: string } | undefined }>(
  generated: ChunkedMessage<T>,
): ChunkedMessage<T> => ({
  ...generated,
  encode: (message) => {
    const { part } = message
    if (part?.$case !== 'chunk') return generated.encode(message)
    return { finish: () => encodeChunk((part as Chunk).value) as unknown as Uint8Array }
  },
  decode: (bytes) => {
    const value = decodeChunk(bytes)
    return value ? ({ part: { $case: 'chunk', value } } as T) : generated.decode(bytes)
  },
})

const { upload, download } = Generated.methods

/** FilesService with its streams of bytes encoded and decoded without needless copies. */
export const FilesServiceDefinition = {
  ...Generated,
  methods: {
    ...Generated.methods,
    upload: { ...upload, requestType: withLeanChunks(UploadRequest) as typeof UploadRequest },
    download: { ...download, responseType: withLeanChunks(DownloadResponse) as typeof DownloadResponse },
  },
} as const

export type FilesServiceDefinition = typeof FilesServiceDefinition
