/** The formats a file can be of: their names in messages, their canonical extension, all extensions, their media type. */
export const FORMATS = {
  jpeg: { extension: 'jpg', extensions: ['jpg', 'jpeg'], contentType: 'image/jpeg' },
  png: { extension: 'png', extensions: ['png'], contentType: 'image/png' },
  gif: { extension: 'gif', extensions: ['gif'], contentType: 'image/gif' },
  svg: { extension: 'svg', extensions: ['svg'], contentType: 'image/svg+xml' },
  pdf: { extension: 'pdf', extensions: ['pdf'], contentType: 'application/pdf' },
  txt: { extension: 'txt', extensions: ['txt'], contentType: 'text/plain' },
  xlsx: {
    extension: 'xlsx',
    extensions: ['xlsx'],
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  },
  docx: {
    extension: 'docx',
    extensions: ['docx'],
    contentType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  },
} as const satisfies Record<string, { extension: string; extensions: readonly string[]; contentType: string }>

export type Format = keyof typeof FORMATS
