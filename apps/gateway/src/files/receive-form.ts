import { isInvisible, oneLine, type UploadedFile, type UploadTerms } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { fieldOf, type Part, partsOf } from '../body/read-multipart'
import type { Body } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'

/** 10mb (interface: Limits). */
const MAX_FILE_BYTES = 10_485_760
const MAX_NAME_LENGTH = 255

export interface FormFile {
  fileName: string
  upload: UploadedFile
}

export interface ReceivedForm extends Body {
  files: FormFile[]
}

export interface FormRules {
  terms: Omit<UploadTerms, 'file_name' | 'max_bytes'>
  /** Why a file is not taken, beside its name. */
  refusalOf: (part: Part, form: ReceivedForm) => string | undefined
  maxFieldBytes?: number
}

/** Deletes stored bytes. A failure is logged: they only take room. */
export const discardStoredFile = ({ clients, logger }: Dependencies, key: string): Promise<void> =>
  clients.files
    .delete(key)
    .catch((err: unknown) => logger.warn({ err, key }, 'could not delete a file without a record'))

/** Deletes the files of a form that has failed. */
export const discardFiles = async (dependencies: Dependencies, files: FormFile[]): Promise<void> => {
  // Without a key it was only checked.
  const keys = files.flatMap(({ upload }) => upload.key || [])
  await Promise.all(keys.map((key) => discardStoredFile(dependencies, key)))
}

/** The file as its record has it. */
export const storedFile = ({ fileName, upload }: FormFile) => ({
  ...{ fileName, fileSize: upload.size, contentType: upload.content_type, key: upload.key },
})

/** Reads a file to its end. Resolves to the number of bytes. */
const discard = async (bytes: AsyncIterable<Buffer>): Promise<number> => {
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_FILE_BYTES)
      throw new ServiceError('too_large', `The file may not be larger than ${MAX_FILE_BYTES} bytes.`)
  }
  return size
}

/** Without folders of either kind (design: Attach). */
const baseName = (given: string): string => oneLine(given.split(/[/\\]/).pop()!.trim())

/** What is wrong with a base name, or undefined. */
const fileNameError = (name: string): string | undefined => {
  if (isInvisible(name)) return 'The file must have a name.'
  if (/[\0\p{Surrogate}]/u.test(name)) return 'The file name contains characters that are not allowed.'
  return [...name].length > MAX_NAME_LENGTH
    ? `The file name may not be greater than ${MAX_NAME_LENGTH} characters.`
    : undefined
}

const takeFile = async (
  part: Part,
  form: ReceivedForm,
  refusalOf: FormRules['refusalOf'],
  store: (fileName: string) => Promise<UploadedFile>,
) => {
  const fileName = baseName(part.fileName ?? '')
  // A file input that was left empty.
  if (fileName === '' && (await discard(part.bytes)) === 0) return
  const addErrorsOf = (messages: string[]) => {
    form.errors = addErrors(form.errors, { [part.name]: messages })
  }
  const refusal = refusalOf(part, form) ?? fileNameError(fileName)
  if (refusal) {
    addErrorsOf([refusal])
    await discard(part.bytes)
    return
  }
  try {
    form.files.push({ fileName, upload: await store(fileName) })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid') throw error
    addErrorsOf(Object.values(error.fieldErrors).flat())
  }
}

/**
 * Reads a multipart request, and streams its files to files-service as they arrive. The form has every error of its files and texts; its
 * fields are unchecked, a repeated one is a list. Throws bad_request for a malformed body; too_large as soon as a limit is exceeded; a
 * 408 for a client that is too slow. Then no file is kept.
 */
export const receiveForm = (
  dependencies: Dependencies,
  reply: FastifyReply,
  { terms, refusalOf, maxFieldBytes }: FormRules,
): Promise<ReceivedForm> =>
  dependencies.receiveUpload(reply, async (signal) => {
    const form: ReceivedForm = { fields: Object.create(null), form: true, errors: {}, files: [] }
    const { fields } = form
    const { request } = reply
    try {
      for await (const part of request.body ? partsOf(request, signal) : []) {
        const { name, bytes } = part
        if (part.fileName !== undefined) {
          await takeFile(part, form, refusalOf, (file_name) => {
            const asked = { ...terms, file_name, max_bytes: MAX_FILE_BYTES }
            return dependencies.clients.files.upload(asked, bytes, signal)
          })
          continue
        }
        const value = await fieldOf(part, maxFieldBytes)
        fields[name] = name in fields ? [fields[name], value].flat() : value
      }
      signal.throwIfAborted()
      return { ...form, errors: addErrors(form.errors, textErrors(fields)) }
    } catch (error) {
      // A file may have been stored before the rest of the form was read.
      await discardFiles(dependencies, form.files)
      throw error
    }
  })
