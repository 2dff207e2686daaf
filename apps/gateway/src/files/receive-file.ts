import { isInvisible, oneLine, type UploadedFile, type UploadTerms } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import type { Call } from '../api/operation'
import { fieldOf, type Part, partsOf } from '../body/read-multipart'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'

/** The most bytes of a file: 10mb (interface: Limits). */
export const MAX_FILE_BYTES = 10_485_760

const MAX_NAME_LENGTH = 255

export interface ReceivedFile<Fields> {
  fields: Fields
  fileName: string
  upload: UploadedFile
}

interface Form {
  fields: Map<string, unknown>
  errors: FieldErrors
  fileName?: string
  upload?: UploadedFile
}

type Store = (part: Part, fileName: string) => Promise<UploadedFile>

/** Deletes stored bytes. A failure is logged: they only take room. */
export const discardStoredFile = (
  { clients, logger }: Pick<Call<unknown>, 'clients' | 'logger'>,
  key: string,
): Promise<void> =>
  clients.files
    .delete(key)
    .catch((err: unknown) => logger.warn({ err, key }, 'could not delete a file without a record'))

/** Reads a file to its end. Resolves to the number of bytes. */
export const discard = async (bytes: AsyncIterable<Buffer>): Promise<number> => {
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_FILE_BYTES)
      throw new ServiceError('too_large', `The file may not be larger than ${MAX_FILE_BYTES} bytes.`)
  }
  return size
}

/** Without folders of either kind (design: Attach). */
export const baseName = (given: string): string => oneLine(given.split(/[/\\]/).pop()!.trim())

/** What is wrong with a base name, or undefined. */
export const fileNameError = (name: string): string | undefined => {
  if (isInvisible(name)) return 'The file must have a name.'
  if (/[\0\p{Surrogate}]/u.test(name)) return 'The file name contains characters that are not allowed.'
  return [...name].length > MAX_NAME_LENGTH
    ? `The file name may not be greater than ${MAX_NAME_LENGTH} characters.`
    : undefined
}

const addError = (form: Form, field: string, message: string) => {
  form.errors = addErrors(form.errors, { [field]: [message] })
}

const takeFile = async (part: Part, given: string, form: Form, store: Store) => {
  const name = baseName(given)
  // A file input that was left empty.
  if (name === '' && (await discard(part.bytes)) === 0) return
  const error =
    part.name !== 'file' || form.fileName !== undefined
      ? 'Only one file can be sent, as the field file.'
      : fileNameError(name)
  if (part.name === 'file') form.fileName ??= name
  if (error) {
    addError(form, part.name, error)
    return discard(part.bytes)
  }
  try {
    form.upload = await store(part, name)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid') throw error
    form.errors = addErrors(form.errors, error.fieldErrors)
  }
}

const takePart = async (part: Part, form: Form, store: Store) => {
  if (part.fileName !== undefined) return takeFile(part, part.fileName, form, store)
  const value = await fieldOf(part)
  if (part.name === 'file') addError(form, 'file', 'The file must be a file.')
  else form.fields.set(part.name, value)
}

const finishForm = <Fields>(form: Form, check: Call<Fields>['check']): ReceivedFile<Fields> => {
  const { upload, fileName } = form
  if (fileName === undefined && !form.errors['file']) addError(form, 'file', 'The file field is required.')
  const given = Object.fromEntries(form.fields)
  const { value: fields, errors = {} } = check({ fields: given, errors: textErrors(given) })
  const allErrors = addErrors(form.errors, errors)
  if (!fields || !upload || fileName === undefined || Object.keys(allErrors).length > 0)
    throw ServiceError.invalid(allErrors)
  return { fields, fileName, upload }
}

/**
 * Reads a multipart request with one file, before or after its other fields, and streams the file to files-service as it arrives.
 * Throws invalid with every error, the file's own among them; bad_request for a malformed body; too_large as soon as the limit is
 * exceeded; a 408 for a client that is too slow. Then no file is kept.
 */
export const receiveFile = <Fields>(
  call: Call<Fields>,
  terms: Omit<UploadTerms, 'file_name' | 'max_bytes'>,
): Promise<ReceivedFile<Fields>> => {
  const { request, reply, clients } = call
  return call.receiveUpload(request, reply, async (signal) => {
    const form: Form = { fields: new Map(), errors: {} }
    const store: Store = ({ bytes }, file_name) =>
      clients.files.upload({ ...terms, file_name, max_bytes: MAX_FILE_BYTES }, bytes, signal)
    try {
      if (request.body) for await (const part of partsOf(request, signal)) await takePart(part, form, store)
      signal.throwIfAborted()
      return finishForm(form, call.check)
    } catch (error) {
      // The file may have been stored before the rest of the form was read.
      if (form.upload?.key) await discardStoredFile(call, form.upload.key)
      throw signal.aborted ? signal.reason : error
    }
  })
}
