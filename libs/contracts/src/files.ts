const format = (contentType: string, extension: string, ...others: string[]) =>
  ({ contentType, extension, extensions: [extension, ...others] }) as const

/**
 * The supported file formats, by the names that requests and errors use. The first extension is the
 * canonical one.
 */
export const FILE_FORMATS = {
  jpeg: format('image/jpeg', 'jpg', 'jpeg', 'jpe', 'jfif', 'jif', 'pjpeg', 'pjp'),
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

/** The query parameters of files-service's `POST /files`. The request body is the file. */
export interface UploadTerms {
  collection: string
  /** The base name that the client gave. Its extension must agree with the content. */
  file_name: string
  /** The formats that are accepted: names of FILE_FORMATS, separated by commas. */
  formats: string
  /** If false, the content is not examined: the file is stored as the only format in `formats`. */
  detect?: boolean
  /**
   * The largest size that is accepted. A larger file is refused with 413 as soon as it exceeds the limit.
   */
  max_bytes: number
  sha256: boolean
}

export interface UploadedFile {
  /** The key under which the file is stored. */
  key: string
  size: number
  content_type: string
  /** The SHA-256 in hexadecimal. Empty unless the request asks for it. */
  sha256: string
}
