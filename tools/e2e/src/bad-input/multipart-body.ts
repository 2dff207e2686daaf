/** One part as it goes over the wire: its header lines, and its bytes. */
export type RawPart = { headers: string[]; value: string | Buffer }

export const BOUNDARY = 'b0undary'

/** The bytes of a multipart body; header lines are written in UTF-8 as they are. */
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

/** A file part; `fileName` is the parameter as it stands in the header, with its quotes. */
export const file = (value: string | Buffer, fileName = '"plan.txt"', name = 'file'): RawPart => ({
  headers: [
    `Content-Disposition: form-data; name="${name}"; filename=${fileName}`,
    'Content-Type: text/plain',
  ],
  value,
})
