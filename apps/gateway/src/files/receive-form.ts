import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { isInvisible, oneLine, type UploadedFile, type UploadTerms } from '@leadwire/contracts'
import { addErrors, type Body, listTextErrors } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply } from 'fastify'
import type { Dependencies } from '../api/operation'
import { type Part, readField, readParts } from '../body/read-multipart'

/** The lead API, section Limits, allows files of 10mb. */
const MAX_FILE_BYTES = 10_485_760
const MAX_NAME_LENGTH = 255

export interface FormFile {
  fileName: string
  upload: UploadedFile
}

export interface ReceivedForm extends Body {
  files: FormFile[]
  /** The size of the fields in bytes, without files. */
  fieldsBytes: number
}

export interface FormRules {
  terms: Omit<UploadTerms, 'file_name' | 'max_bytes'>
  /** Returns the reason for refusing a file, or undefined. The file name is checked separately. */
  refuseFile: (part: Part, form: ReceivedForm) => string | undefined
  /** Ignores all files without bytes. By default only an empty file without a name is ignored. */
  ignoresEmptyFiles?: true
  /**
   * The maximum size of all fields together, in bytes. By default, each single field has a limit, but all
   * fields together have none.
   */
  maxFieldsBytes?: number
}

/** Deletes the bytes of a stored file. Logs a failure and continues, because leftover bytes do no harm. */
export const discardStoredFile = ({ clients, logger }: Dependencies, key: string): Promise<void> =>
  clients.files
    .delete(key)
    .catch((err: unknown) => logger.warn({ err, key }, 'could not delete a file without a record'))

/** Deletes the files of a failed form. */
export const discardFiles = async (dependencies: Dependencies, files: FormFile[]): Promise<void> => {
  await Promise.all(files.map(({ upload }) => discardStoredFile(dependencies, upload.key)))
}

/** Returns the fields of a stored file's record. */
export const storedFile = ({ fileName, upload }: FormFile) => ({
  fileName,
  fileSize: upload.size,
  contentType: upload.content_type,
  key: upload.key,
})

/**
 * Reads a file to its end and discards it. Resolves with the number of bytes. Throws `too_large` beyond
 * MAX_FILE_BYTES.
 */
const discard = async (bytes: AsyncIterable<Buffer>): Promise<number> => {
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_FILE_BYTES)
      throw new ServiceError('too_large', `The file may not be larger than ${MAX_FILE_BYTES} bytes.`)
  }
  return size
}

/** Returns a file name without the folders that some browsers add. */
const baseName = (given: string): string => oneLine(given.split(/[/\\]/).pop()!.trim())

/** Returns the error of a file name, or undefined. */
const fileNameError = (name: string): string | undefined => {
  if (isInvisible(name)) return 'The file must have a name.'
  if (/[\0\p{Surrogate}]/u.test(name))
    return 'The file name contains a NUL or an unpaired surrogate. Remove it.'
  return [...name].length > MAX_NAME_LENGTH
    ? `The file name may not be greater than ${MAX_NAME_LENGTH} characters.`
    : undefined
}

const isEmptyFile = async (bytes: Readable): Promise<boolean> => {
  // `readable` is emitted with the first bytes, or at the end of an empty file.
  await Promise.race([once(bytes, 'readable'), finished(bytes, { writable: false })])
  return bytes.readableLength === 0
}

/**
 * Stores the file of a part, or adds the error of the file to the form. Throws `too_large` beyond
 * MAX_FILE_BYTES.
 */
const takeFile = async (
  part: Part,
  form: ReceivedForm,
  { refuseFile, ignoresEmptyFiles }: FormRules,
  store: (fileName: string, bytes: Readable) => Promise<UploadedFile>,
) => {
  if (ignoresEmptyFiles && (await isEmptyFile(part.bytes))) {
    await discard(part.bytes)
    return
  }
  const fileName = baseName(part.fileName ?? '')
  // Ignores a part without a name and without bytes. Browsers send such a part for an empty file input.
  if (fileName === '' && (await discard(part.bytes)) === 0) return
  const addFileErrors = (messages: string[]) => {
    form.errors = addErrors(form.errors, { [part.name]: messages })
  }
  const refusal = refuseFile(part, form) ?? fileNameError(fileName)
  if (refusal) {
    addFileErrors([refusal])
    await discard(part.bytes)
    return
  }
  try {
    form.files.push({ fileName, upload: await store(fileName, part.bytes) })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid') throw error
    addFileErrors(Object.values(error.fieldErrors).flat())
  }
}

/**
 * Adds a field to a form. A repeated field becomes a list. Throws `too_large` if all fields together exceed
 * `maxFieldsBytes`.
 */
const takeField = async (part: Part, form: ReceivedForm, maxFieldsBytes: number | undefined) => {
  const { fields } = form
  const { name } = part
  const { value, size } = await readField(part, maxFieldsBytes)
  form.fieldsBytes += name.length + size
  if (maxFieldsBytes !== undefined && form.fieldsBytes > maxFieldsBytes)
    throw new ServiceError(
      'too_large',
      `The fields of the form may not be larger than ${maxFieldsBytes} bytes.`,
    )
  fields[name] = name in fields ? [fields[name], value].flat() : value
}

/**
 * Reads a multipart form, and streams its files to files-service as they arrive. The result has the errors of
 * all files and texts. The fields of the result are not validated yet, and a repeated field is a list. Throws
 * `bad_request` for a malformed body, `too_large` if a file or all fields together are too large or the parts
 * are too many, and `timeout` (408) if the client is too slow. After an error, no file is kept.
 */
export const receiveForm = (
  dependencies: Dependencies,
  reply: FastifyReply,
  rules: FormRules,
): Promise<ReceivedForm> =>
  dependencies.receiveUpload(reply, async ({ signal, takePlace }) => {
    const form: ReceivedForm = {
      fields: Object.create(null),
      form: true,
      errors: {},
      files: [],
      fieldsBytes: 0,
    }
    const { request } = reply
    const store = async (fileName: string, bytes: Readable) => {
      await takePlace()
      const terms = { ...rules.terms, file_name: fileName, max_bytes: MAX_FILE_BYTES }
      return dependencies.clients.files.upload(terms, bytes, signal)
    }
    try {
      for await (const part of request.body ? readParts(request, signal) : []) {
        if (part.fileName === undefined) await takeField(part, form, rules.maxFieldsBytes)
        else await takeFile(part, form, rules, store)
      }
      signal.throwIfAborted()
      return { ...form, errors: addErrors(form.errors, listTextErrors(form.fields)) }
    } catch (error) {
      // Deletes the files that were stored before the error.
      await discardFiles(dependencies, form.files)
      throw error
    }
  })
