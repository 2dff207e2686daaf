import { isAnyArrayBuffer } from 'node:util/types'

/** A body before any parsing. A string stands for its UTF-8 bytes: prefer the bytes, decoding may have changed them. */
export type RawBody = Uint8Array | ArrayBuffer | string

/** @throws TypeError for anything else, above all for a body that was parsed already: its bytes are gone. */
export const bytesOf = (body: RawBody): Uint8Array => {
  if (typeof body === 'string') return Buffer.from(body)
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (isAnyArrayBuffer(body)) return Buffer.from(body)
  throw new TypeError(
    'The raw body must be bytes (or a string), exactly as they came. A parsed body, even printed as JSON again, has ' +
      'other bytes than those that were signed: have your framework keep the raw ones.',
  )
}
