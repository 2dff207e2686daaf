import type { UploadedFile } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { bodyOf } from '../body/body'
import { fieldOf, type Part, partsOf } from '../body/read-multipart'
import { FORMATS } from '../files/attach-file'
import { baseName, discard, discardStoredFile, fileNameError, MAX_FILE_BYTES } from '../files/receive-file'
import type { Body } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'

export const MAX_FILES = 3
/** More than a description has. */
const MAX_FIELD_BYTES = 64 * 1024

export interface FormFile {
  fileName: string
  upload: UploadedFile
}

export interface ReceivedForm extends Body {
  files: FormFile[]
}

const TERMS = {
  ...{ collection: 'attachments', formats: FORMATS.join(), max_bytes: MAX_FILE_BYTES },
  ...{ keep: true, sha256: true },
}

const takeFile = async (
  { name, fileName = '', bytes }: Part,
  form: ReceivedForm,
  store: (fileName: string) => Promise<UploadedFile>,
) => {
  const base = baseName(fileName)
  // A file input that was left empty.
  if (base === '' && (await discard(bytes)) === 0) return
  const error = form.files.length === MAX_FILES ? `A form may have ${MAX_FILES} files.` : fileNameError(base)
  if (error) {
    form.errors = addErrors(form.errors, { [name]: [error] })
    await discard(bytes)
    return
  }
  try {
    form.files.push({ fileName: base, upload: await store(base) })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid') throw error
    form.errors = addErrors(form.errors, { [name]: Object.values(error.fieldErrors).flat() })
  }
}

/** Deletes the files of a form that has failed. */
export const discardFiles = async (
  dependencies: Pick<Dependencies, 'clients' | 'logger'>,
  files: FormFile[],
): Promise<void> => {
  await Promise.all(files.map(({ upload }) => discardStoredFile(dependencies, upload.key)))
}

export const isMultipart = ({ headers }: FastifyRequest) =>
  /^multipart\//i.test(headers['content-type'] ?? '')

const receiveMultipart = (
  dependencies: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ReceivedForm> =>
  dependencies.receiveUpload(request, reply, async (signal) => {
    const form: ReceivedForm = { fields: Object.create(null), form: true, errors: {}, files: [] }
    const { fields } = form
    try {
      for await (const part of request.body ? partsOf(request, signal) : []) {
        const { name } = part
        if (part.fileName !== undefined) {
          await takeFile(part, form, (file_name) =>
            dependencies.clients.files.upload({ ...TERMS, file_name }, part.bytes, signal),
          )
          continue
        }
        const value = await fieldOf(part, MAX_FIELD_BYTES)
        fields[name] = name in fields ? [fields[name], value].flat() : value
      }
      signal.throwIfAborted()
      return { ...form, errors: addErrors(form.errors, textErrors(fields)) }
    } catch (error) {
      await discardFiles(dependencies, form.files)
      throw signal.aborted ? signal.reason : error
    }
  })

/** Reads a form, and streams its files to files-service. Throws bad_request, too_large, or a 408 for a client that is too slow. */
export const receiveForm = async (
  dependencies: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ReceivedForm> => {
  if (isMultipart(request)) return receiveMultipart(dependencies, request, reply)
  return { ...bodyOf(request), files: [] }
}
