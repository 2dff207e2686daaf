const format = (contentType: string, extension: string, ...others: string[]) =>
  ({ contentType, extension, extensions: [extension, ...others] }) as const

/** By their names in messages. The first extension is the canonical one. */
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

export const IMAGE_FORMATS = ['jpeg', 'png', 'gif', 'svg'] as const satisfies readonly FileFormat[]

/** The query of files-service's `POST /files`, whose body is the bytes. */
export interface UploadTerms {
  collection: string
  /** The base name the client gave: its extension must agree with the content. */
  file_name: string
  /** Separated by commas. */
  formats: string
  /** False: the bytes are kept as they are, under the one format that is named. */
  detect?: boolean
  /** One byte more is refused at once (413). */
  max_bytes: number
  /** False: the file is checked and not kept. */
  keep: boolean
  sha256: boolean
}

export interface UploadedFile {
  /** Where the bytes are; empty when they were not to be kept. */
  key: string
  size: number
  content_type: string
  /** Hexadecimal; empty unless requested. */
  sha256: string
}
