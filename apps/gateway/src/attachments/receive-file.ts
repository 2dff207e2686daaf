import { once } from 'node:events'
import { addAbortSignal } from 'node:stream'
import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { UploadedFile, UploadTerms } from '@leadwire/contracts'
import { type Faults, ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Clients } from '../clients'
import type { Call } from '../operation'
import { addFaults } from '../validation/faults'
import { textFaults } from '../validation/text-faults'
import { baseName, fileNameFault } from './file-name'
import { discardStoredFile } from './keep-stored-file'
import { partsOf } from './read-multipart'

/** The most bytes of a file: 10mb (interface: Limits). */
export const MAX_FILE_BYTES = 10_485_760

/** What files-service is to do with the file; with `keep` false it is only checked. */
export type FileTerms = Omit<UploadTerms, 'file_name' | 'max_bytes'>

export interface ReceivedFile<Fields> {
  fields: Fields
  fileName: string
  upload: UploadedFile
}

interface Form {
  fields: Map<string, unknown>
  faults: Faults
  fileName?: string
  upload?: UploadedFile
}

interface Receiving {
  form: Form
  terms: FileTerms
  clients: Clients
  signal: AbortSignal
}

const tooLarge = () =>
  new ServiceError('too_large', `The file may not be larger than ${MAX_FILE_BYTES} bytes.`)

const discard = async (bytes: AsyncIterable<Buffer>) => {
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_FILE_BYTES) throw tooLarge()
  }
}

const addFault = (form: Form, field: string, message: string) => {
  form.faults = addFaults(form.faults, { [field]: [message] })
}

const takeFile = async (part: MultipartFile, { form, terms, clients, signal }: Receiving) => {
  const name = baseName(part.filename ?? '')
  const fault =
    part.fieldname !== 'file' || form.fileName !== undefined
      ? 'Only one file can be sent, as the field file.'
      : fileNameFault(name)
  if (part.fieldname === 'file') form.fileName ??= name
  if (fault) {
    addFault(form, part.fieldname, fault)
    return discard(addAbortSignal(signal, part.file))
  }
  const upload = { ...terms, file_name: name, max_bytes: MAX_FILE_BYTES }
  try {
    form.upload = await clients.files.upload(upload, part.file, signal)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid') throw error
    form.faults = addFaults(form.faults, error.faults)
  }
}

const takePart = async (part: Multipart, receiving: Receiving) => {
  // RFC 7578, 4.2. The parser leaves it out although its types say otherwise.
  if (typeof part.fieldname !== 'string')
    throw new ServiceError('bad_request', 'Every part of a multipart body must have a name.')
  if (part.type === 'file') return takeFile(part, receiving)
  const { form } = receiving
  if (part.fieldname === 'file') addFault(form, 'file', 'The file must be a file.')
  else form.fields.set(part.fieldname, part.value)
}

/** The parts of a request, until the signal aborts: then its reason is thrown. */
async function* partsUntil(request: FastifyRequest, signal: AbortSignal): AsyncGenerator<Multipart> {
  signal.throwIfAborted()
  const aborted = once(signal, 'abort').then((): never => {
    throw signal.reason
  })
  aborted.catch(() => undefined)
  const parts = partsOf(request)
  for (;;) {
    const { done, value } = await Promise.race([parts.next(), aborted])
    if (done) return
    yield value
  }
}

// A form with too many parts or files.
const isLimit = (error: unknown) => /^FST_(PARTS|FILES)_LIMIT$/.test((error as { code?: string }).code ?? '')

// What else the parser throws is the client's doing, whatever status the plugin would give it.
const unreadable = (error: unknown) =>
  error instanceof ServiceError || error instanceof TypeError || isLimit(error)
    ? error
    : new ServiceError('bad_request', 'The multipart body could not be read.', { cause: error })

/**
 * Reads a multipart request with one file, and streams the file on to files-service while it comes. Other fields may
 * stand before or behind it. Throws invalid with every fault, the file's own among them; bad_request for a broken body;
 * too_large as soon as one byte too many came; a 408 for a client that is too slow. Nothing is kept then.
 */
export const receiveFile = <Fields>(call: Call<Fields>, terms: FileTerms): Promise<ReceivedFile<Fields>> => {
  const { request, reply, clients } = call
  return call.uploads(request, reply, async (signal) => {
    const form: Form = { fields: new Map(), faults: {} }
    try {
      if (request.isMultipart()) {
        for await (const part of partsUntil(request, signal))
          await takePart(part, { form, terms, clients, signal })
      }
      signal.throwIfAborted()
      return finishForm(form, call.check)
    } catch (error) {
      // Stored already, before the rest of the form was known.
      if (form.upload?.key) await discardStoredFile(call, form.upload.key)
      throw signal.aborted ? signal.reason : unreadable(error)
    }
  })
}

const finishForm = <Fields>(form: Form, check: Call<Fields>['check']): ReceivedFile<Fields> => {
  const { upload, fileName } = form
  if (fileName === undefined && !form.faults['file']) addFault(form, 'file', 'The file field is required.')
  const given = Object.fromEntries(form.fields)
  const { value: fields, faults = {} } = check({ fields: given, faults: textFaults(given) })
  const allFaults = addFaults(form.faults, faults)
  if (!fields || !upload || fileName === undefined || Object.keys(allFaults).length > 0)
    throw ServiceError.invalid(allFaults)
  return { fields, fileName, upload }
}
