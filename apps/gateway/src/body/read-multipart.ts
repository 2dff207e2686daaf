import { addAbortSignal, PassThrough, pipeline, Readable } from 'node:stream'
import { Dicer } from '@fastify/busboy'
import { decodeWindows1252, ServiceError } from '@leadwire/service-kit'
import { decodeExtended, parse } from 'content-disposition'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Decoder as Base64Decoder } from 'libbase64'
import { Decoder as QuotedPrintableDecoder } from 'libqp'
import { ProblemError } from '../http/problem'
import { decodeUtf8 } from '../http/utf8'
import { createGrowingBuffer } from './collect-body'
import { decodePartName } from './decode-part-name'
import { parseJson, refuseOtherTypes } from './parse-body'

const MAX_PARTS = 1000
const MAX_FILES = 10

/** A part of a form (RFC 7578). A part with a file name is a file. */
export interface Part {
  name: string
  fileName: string | undefined
  contentType: string | undefined
  /** The content, decoded from its Content-Transfer-Encoding. */
  bytes: Readable
}

/** Lets the routes of `app` read multipart/form-data and no other type. */
export const readMultipart = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  refuseOtherTypes(app)
  acceptMultipart(app)
}

/** Lets the routes of `app` also read multipart/form-data. */
export const acceptMultipart = (app: FastifyInstance): void => {
  app.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload))
}

type Header = Record<string, [string, ...string[]] | undefined>

const ignore = () => undefined

const tooMany = (limit: string) => new ServiceError('too_large', `The form may not have more than ${limit}.`)

const badForm = (detail: string, cause?: unknown) => new ServiceError('bad_request', detail, { cause })

// RFC 2046, 5.1.1, allows 70 characters in a boundary, but the parser accepts 252.
const MAX_BOUNDARY = 252
const NOT_NAMED =
  'The Content-Type needs the boundary of the parts. Let your HTTP library set the Content-Type.'
const NOT_FOUND =
  'The body does not contain the boundary that the Content-Type names. Let your HTTP library set the Content-Type.'
const NOT_ENDED = 'The body ends before its closing boundary. Send the whole body.'

/**
 * Yields the parts of a request in order. The caller must read each part to its end before the next part.
 * Throws `bad_request`, `too_large`, `unsupported-media-type`, or the signal's AbortError.
 *
 * Uses Dicer directly. Busboy and @fastify/multipart drop one name if a part has both `filename` and
 * `filename*`, and replace bytes that are not UTF-8 with U+FFFD.
 */
export async function* readParts({ raw }: FastifyRequest, signal: AbortSignal): AsyncGenerator<Part> {
  const { boundary } = parse(raw.headers['content-type']!).parameters
  if (!boundary || boundary.length > MAX_BOUNDARY) throw badForm(NOT_NAMED)
  const dicer = new Dicer({ boundary })
  const opened = new Readable({ objectMode: true, read: ignore, signal })
  let count = 0
  let files = 0
  let bytes: Readable | undefined
  dicer.on('part', (part) => {
    count += 1
    if (count > MAX_PARTS) opened.destroy(tooMany(`${MAX_PARTS} parts`))
    part.on('error', ignore).on('header', (header: Header) => opened.push({ part, header }))
  })
  dicer.on('finish', () => opened.push(null))
  // Destroys the part with this error, because the part itself would emit a less specific error.
  dicer.on('error', () => {
    const error = badForm(count === 0 ? NOT_FOUND : NOT_ENDED)
    bytes?.destroy(error)
    opened.destroy(error)
  })
  raw.pipe(dicer)
  for await (const { part, header } of opened as AsyncIterable<{ part: Readable; header: Header }>) {
    const names = readNames(header['content-disposition']?.[0])
    // Browsers send a file without a name for each empty file input. Such a file does not count.
    if (names.fileName) files += 1
    if (files > MAX_FILES) throw tooMany(`${MAX_FILES} files`)
    bytes = pipeline(part, createDecoder(header['content-transfer-encoding']?.[0]), ignore)
    // Handles stream errors here too, because the stream may fail before the caller reads it.
    addAbortSignal(signal, bytes).on('error', ignore)
    yield { ...names, contentType: header['content-type']?.[0], bytes }
  }
}

const createDecoder = (encoding = '') => {
  const named = encoding.trim().toLowerCase()
  if (named === 'base64') return new Base64Decoder()
  if (named === 'quoted-printable') return new QuotedPrintableDecoder()
  if (['', '7bit', '8bit', 'binary'].includes(named)) return new PassThrough()
  throw new ProblemError(
    'unsupported-media-type',
    `The Content-Transfer-Encoding ${named} of a part is not supported. Use base64, quoted-printable, 7bit, 8bit or binary.`,
  )
}

const readNames = (header = '') => {
  // Browsers do not escape backslashes, so a backslash is an escape only before a quote or another
  // backslash.
  const disposition = decodeUtf8(Buffer.from(header, 'latin1')).replace(/\\["\\]?/g, (found) =>
    found === '\\' ? '\\\\' : found,
  )
  const { parameters } = parse(disposition)
  const name = decodeParameter(parameters, 'name')
  if (name === undefined) throw badForm('Every part of a multipart body must have a name.')
  return { name, fileName: fileNameInPieces(parameters) ?? decodeParameter(parameters, 'filename') }
}

/**
 * Decodes a parameter. If the header has the parameter under a name that ends in `*` (RFC 8187), the parser
 * has already decoded the value.
 */
const decodeParameter = (parameters: Record<string, string>, key: string): string | undefined => {
  const value = parameters[key]
  return value === undefined || `${key}*` in parameters ? value : decodePartName(value)
}

/**
 * Joins a file name that was sent in numbered pieces. Pieces whose names end in `*` are percent-encoded
 * (RFC 2231, 3 and 4.1).
 */
const fileNameInPieces = (parameters: Record<string, string>): string | undefined => {
  let encoded = parameters['filename*0*'] === undefined ? "UTF-8''" : ''
  for (let index = 0; ; index += 1) {
    const key = `filename*${index}`
    const piece =
      parameters[`${key}*`] ?? (key in parameters ? encodeURIComponent(parameters[key]!) : undefined)
    if (piece === undefined) return index === 0 ? undefined : decodeExtended(encoded)
    encoded += piece
  }
}

/** Enough for 255 characters of any script. */
const MAX_FIELD_BYTES = 4096

const decoded = (bytes: Buffer, charset: string, isWhole: boolean): string => {
  try {
    const decoder = new TextDecoder(charset, { fatal: isWhole })
    return decoder.encoding === 'windows-1252' ? decodeWindows1252(bytes) : decoder.decode(bytes)
  } catch (cause) {
    throw badForm(`The body is not well-formed ${charset.toUpperCase()}.`, cause)
  }
}

/**
 * Reads the text of a field, or the value of a JSON field. If the text is longer than `maxBytes`, the rest of
 * the text may be missing from `value`. `size` is the size of the whole text in bytes.
 */
export const readField = async (
  { contentType = '', bytes }: Part,
  maxBytes = MAX_FIELD_BYTES,
): Promise<{ value: unknown; size: number }> => {
  const kept = createGrowingBuffer(maxBytes)
  let size = 0
  let isWhole = true
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    isWhole = size <= maxBytes
    size += chunk.length
    if (isWhole) kept.append(chunk)
  }
  const { type, parameters } = parse(contentType)
  const text = decoded(kept.readBytes(), parameters['charset'] ?? 'utf-8', isWhole)
  // A text that was cut off is no valid JSON. The caller refuses such a long text.
  const isJson = type === 'application/json' && isWhole
  return { value: isJson ? parseJson(text) : text, size }
}
