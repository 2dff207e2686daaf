/**
 * files-service speaks HTTP: `POST /files` with the bytes as body and these terms as query, `GET` and `DELETE
 * /files/<key>`. What it refuses it answers with a problem document; what is wrong with a file itself is a 422 whose
 * errors are sentences for the API's client, under `file`.
 */
export interface UploadTerms {
  /** The folder of the store: attachments, images. */
  collection: string
  /** The base name the client gave: its extension must agree with the content. */
  file_name: string
  /** The formats taken, parted by commas, of: jpeg, png, gif, svg, pdf, txt, xlsx, docx. */
  formats: string
  /** False: the bytes are kept as they are, under the one format that is named. */
  detect?: boolean
  /** The most bytes taken. One more is refused at once (413). */
  max_bytes: number
  /** False: the file is checked and not kept. */
  keep: boolean
  /** Whether the answer has the SHA-256. */
  sha256: boolean
}

/** The answer to an upload. */
export interface UploadedFile {
  /** Where the bytes are; empty when they were not to be kept. */
  key: string
  size: number
  content_type: string
  /** Hexadecimal; empty unless requested. */
  sha256: string
}
