/** The header lines and the bytes of one part. */
export type RawPart = { headers: string[]; value: string | Buffer }

export const BOUNDARY = 'b0undary'

/** Renders a multipart body. Writes the header lines unchanged in UTF-8. */
export const rawMultipart = (
  parts: RawPart[],
  { boundary = BOUNDARY, end = undefined as string | undefined } = {},
): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ headers, value }) => [
      Buffer.from(`--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(end ?? `--${boundary}--\r\n`),
  ])

export const field = (name: string, value: string | Buffer): RawPart => ({
  headers: [`Content-Disposition: form-data; name="${name}"`],
  value,
})

/** Builds a file part. Writes `fileName` into the header unchanged, so `fileName` must include its quotes. */
export const file = (value: string | Buffer, fileName = '"plan.txt"', name = 'file'): RawPart => ({
  headers: [
    `Content-Disposition: form-data; name="${name}"; filename=${fileName}`,
    'Content-Type: text/plain',
  ],
  value,
})
