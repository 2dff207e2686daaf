import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { UploadResponse } from '@leadwire/contracts'
import { type Faults, ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Clients } from '../clients'
import { addFaults } from '../validation/faults'
import { baseName, fileNameFault } from './file-name'
import { partsOf } from './read-multipart'
import { type PendingUpload, uploadPart } from './upload-part'

/** The most bytes of a file: 10mb (interface: Limits). */
export const MAX_FILE_BYTES = 10_485_760

export interface FileTerms {
  collection: string
  formats: readonly string[]
  /** False: the file is only judged. */
  keep: boolean
  /** Whether the upload's `sha256` is needed. */
  wantsSha256: boolean
  /** What is wrong with the other fields. */
  faultsOf: (fields: Record<string, unknown>) => Faults
}

export interface ReceivedFile {
  fields: Record<string, unknown>
  fileName: string
  upload: UploadResponse
}

interface Form {
  fields: Map<string, unknown>
  faults: Faults
  fileName?: string
  upload?: PendingUpload
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

const takeFile = async (form: Form, part: MultipartFile, files: Clients['files'], terms: FileTerms) => {
  const name = baseName(part.filename ?? '')
  const fault =
    part.fieldname !== 'file' || form.fileName !== undefined
      ? 'Only one file can be sent, as the field file.'
      : fileNameFault(name)
  if (part.fieldname === 'file') form.fileName ??= name
  if (fault) {
    addFault(form, part.fieldname, fault)
    return discard(part.file)
  }
  form.upload = await uploadPart(files, part.file, {
    collection: terms.collection,
    fileName: name,
    formats: [...terms.formats],
    maxBytes: MAX_FILE_BYTES,
    skipSha256: !terms.wantsSha256,
  })
}

const takePart = async (form: Form, part: Multipart, files: Clients['files'], terms: FileTerms) => {
  // RFC 7578, 4.2. The parser leaves it away although its types say otherwise.
  if (typeof part.fieldname !== 'string')
    throw new ServiceError('bad_request', 'Every part of a multipart body must have a name.')
  if (part.type === 'file') return takeFile(form, part, files, terms)
  if (part.fieldname === 'file') addFault(form, 'file', 'The file must be a file.')
  else form.fields.set(part.fieldname, part.value)
}

// What the parser throws is the client's doing, whatever status the plugin would give it.
const unreadable = (error: unknown) =>
  error instanceof ServiceError || error instanceof TypeError
    ? error
    : new ServiceError('bad_request', 'The multipart body could not be read.', { cause: error })

/**
 * Reads a multipart request with one file, and streams the file on to files-service while it comes. Other fields may
 * stand before or behind it. Throws invalid with every fault, the file's own among them, and then keeps nothing;
 * bad_request for a broken body; too_large as soon as one byte too many came.
 */
export const receiveFile = async (
  request: FastifyRequest,
  files: Clients['files'],
  terms: FileTerms,
): Promise<ReceivedFile> => {
  const form: Form = { fields: new Map(), faults: {} }
  try {
    if (request.isMultipart()) {
      for await (const part of partsOf(request)) await takePart(form, part, files, terms)
    }
  } catch (error) {
    form.upload?.cancel()
    throw unreadable(error)
  }
  if (form.fileName === undefined && !form.faults['file'])
    addFault(form, 'file', 'The file field is required.')
  return finishForm(form, terms)
}

const finishForm = async (form: Form, terms: FileTerms): Promise<ReceivedFile> => {
  const fields = Object.fromEntries(form.fields)
  const formFaults = addFaults(form.faults, terms.faultsOf(fields))
  const sound = Object.keys(formFaults).length === 0
  const upload = await form.upload?.finish(sound && terms.keep)
  const faults = addFaults(formFaults, upload?.faults.length ? { file: upload.faults } : {})
  if (!upload || Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  return { fields, fileName: form.fileName!, upload }
}
