import type { StoredFile } from '@leadwire/contracts'
import { isSaid, isText } from './arguments'

/** The fields of a record of stored bytes, and whether each is as it must be. */
export const fileFields = (file: StoredFile | undefined): Record<string, boolean> => ({
  file: file !== undefined,
  ...(file && {
    key: isSaid(file.key),
    name: isText(file.name),
    file_name: isText(file.fileName),
    file_size: file.fileSize > 0,
    content_type: isSaid(file.contentType),
  }),
})
