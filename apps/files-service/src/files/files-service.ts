import type { FilesServiceImplementation } from '@leadwire/contracts'
import { deleteFile } from './delete-file'
import { downloadFile } from './download-file'
import { type UploadDependencies, uploadFile } from './upload-file'

export interface FilesService {
  implementation: FilesServiceImplementation
  /** Resolves when no upload is at work any more, the cancelled ones included: a call is over before its file is removed. */
  settled(): Promise<void>
}

/** FilesService over one store. */
export const createFilesService = (dependencies: UploadDependencies): FilesService => {
  const upload = uploadFile(dependencies)
  const uploads = new Set<Promise<unknown>>()
  return {
    implementation: {
      upload: (messages, context) => {
        const response = upload(messages, context)
        const over = response.catch(() => undefined).finally(() => uploads.delete(over))
        uploads.add(over)
        return response
      },
      download: downloadFile(dependencies),
      delete: deleteFile(dependencies),
    },
    settled: async () => void (await Promise.all(uploads)),
  }
}
