import { addAbortSignal, PassThrough, pipeline, Readable } from 'node:stream'
import { Dicer } from '@fastify/busboy'
import { ServiceError } from '@leadwire/service-kit'
import { decodeExtended, parse } from 'content-disposition'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Decoder as Base64Decoder } from 'libbase64'
import { Decoder as QuotedPrintableDecoder } from 'libqp'
import { ProblemError } from '../http/problem'
import { decodeUtf8, windows1252Text } from '../http/utf8'
import { parseJson, refuseOtherTypes } from './body'

const MAX_PARTS = 50
const MAX_FILES = 10

/** A part of a form (RFC 7578). A file has a file name. */
export interface Part {
  name: string
  fileName: string | undefined
  contentType: string | undefined
  /** Decoded from the transfer encoding. */
  bytes: Readable
}

/** Lets the routes of `app` read multipart/form-data, and nothing else. */
export const readMultipart = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  refuseOtherTypes(app)
  acceptMultipart(app)
}

/** Lets the routes of `app` read multipart/form-data too. */
export const acceptMultipart = (app: FastifyInstance): void => {
  app.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload))
}

type Header = Record<string, [string, ...string[]] | undefined>

const ignore = () => undefined

const tooMany = (limit: string) => new ServiceError('too_large', `The form may not have more than ${limit}.`)

const badForm = (detail: string, cause?: unknown) => new ServiceError('bad_request', detail, { cause })

// RFC 2046, 5.1.1, allows 70, and the parser takes 252.
const MAX_BOUNDARY = 252
const NOT_NAMED =
  'The Content-Type must name the boundary of the parts. Leave it to the library that makes the body.'
const NOT_FOUND = 'No part of the body starts with the boundary that its Content-Type names.'
const NOT_ENDED = 'The body ends before its last boundary.'

/**
 * The parts of a request in their order, each to be read before the next. Throws bad_request, too_large, or the signal's AbortError.
 * Busboy and @fastify/multipart, which use Dicer too, lose one of two file names, and replace bytes that are not UTF-8 by U+FFFD.
 */
export async function* partsOf({ raw }: FastifyRequest, signal: AbortSignal): AsyncGenerator<Part> {
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
  // Before the part emits its own, less specific error.
  dicer.on('error', () => {
    const error = badForm(count === 0 ? NOT_FOUND : NOT_ENDED)
    bytes?.destroy(error)
    opened.destroy(error)
  })
  raw.pipe(dicer)
  for await (const { part, header } of opened as AsyncIterable<{ part: Readable; header: Header }>) {
    const names = namesOf(header['content-disposition']?.[0])
    if (names.fileName !== undefined) files += 1
    if (files > MAX_FILES) throw tooMany(`${MAX_FILES} files`)
    bytes = pipeline(part, decoderOf(header['content-transfer-encoding']?.[0]), ignore)
    // It may fail before it is read.
    addAbortSignal(signal, bytes).on('error', ignore)
    yield { ...names, contentType: header['content-type']?.[0], bytes }
  }
}

const decoderOf = (encoding = '') => {
  const named = encoding.trim().toLowerCase()
  if (named === 'base64') return new Base64Decoder()
  if (named === 'quoted-printable') return new QuotedPrintableDecoder()
  if (['', '7bit', '8bit', 'binary'].includes(named)) return new PassThrough()
  throw new ProblemError(
    'unsupported-media-type',
    'Parts are read in the encodings base64 and quoted-printable, or as they are.',
  )
}

const namesOf = (header = '') => {
  // Browsers do not escape backslashes. A backslash is an escape only before a quote or another backslash.
  const disposition = decodeUtf8(Buffer.from(header, 'latin1')).replace(/\\["\\]?/g, (found) =>
    found === '\\' ? '\\\\' : found,
  )
  const { parameters } = parse(disposition)
  const { name, filename } = parameters
  if (name === undefined) throw badForm('Every part of a multipart body must have a name.')
  return { name, fileName: fileNameInPieces(parameters) ?? filename }
}

/** A long parameter comes in numbered pieces. Those whose names end in `*` are percent-encoded (RFC 2231, 3 and 4.1). */
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

/** More than 255 characters of any script. */
const MAX_FIELD_BYTES = 4096

const decoded = (bytes: Buffer, charset: string, isWhole: boolean): string => {
  try {
    const decoder = new TextDecoder(charset, { fatal: isWhole })
    return decoder.encoding === 'windows-1252' ? windows1252Text(bytes) : decoder.decode(bytes)
  } catch (cause) {
    throw badForm(`The body is not well-formed ${charset.toUpperCase()}.`, cause)
  }
}

/** The text of a field, or its value in JSON. What is far beyond `maxBytes` is truncated. */
export const fieldOf = async (
  { contentType = '', bytes }: Part,
  maxBytes = MAX_FIELD_BYTES,
): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  let isWhole = true
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    isWhole = size <= maxBytes
    if (!isWhole) continue
    chunks.push(chunk)
    size += chunk.length
  }
  const { type, parameters } = parse(contentType)
  const text = decoded(Buffer.concat(chunks), parameters['charset'] ?? 'utf-8', isWhole)
  return type === 'application/json' ? parseJson(text) : text
}
