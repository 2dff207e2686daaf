import type { FilesServiceImplementation } from '@leadwire/contracts'
import { deleteFile } from './delete-file'
import { downloadFile } from './download-file'
import { type UploadDependencies, uploadFile } from './upload-file'

/** FilesService over one store. */
export const createFilesService = (dependencies: UploadDependencies): FilesServiceImplementation => ({
  upload: uploadFile(dependencies),
  download: downloadFile(dependencies),
  delete: deleteFile(dependencies),
})
