const format = (contentType: string, extension: string, ...others: string[]) =>
  ({ contentType, extension, extensions: [extension, ...others] }) as const

/** The formats a file can be of: their names in messages, their media type, their canonical extension, all extensions. */
export const FILE_FORMATS = {
  jpeg: format('image/jpeg', 'jpg', 'jpeg'),
  png: format('image/png', 'png'),
  gif: format('image/gif', 'gif'),
  svg: format('image/svg+xml', 'svg'),
  pdf: format('application/pdf', 'pdf'),
  txt: format('text/plain', 'txt'),
  xlsx: format('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'),
  docx: format('application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'),
} as const

export type FileFormat = keyof typeof FILE_FORMATS

/** Those of them that a browser shows as images. */
export const IMAGE_FORMATS = ['jpeg', 'png', 'gif', 'svg'] as const satisfies readonly FileFormat[]
