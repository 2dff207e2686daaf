import { FILE_FORMATS, Image } from '@leadwire/contracts'
import { text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { findLead } from '../api/find-lead'
import { operation } from '../api/operation'
import { fileField, named, recordResponse } from '../api/schemas'
import { recordFile } from './record-upload'

export const FORMATS = Object.keys(FILE_FORMATS)

const AttachFields = Type.Object({
  name: text('Name of the file.', 'Survey of the house'),
})

const AttachForm = named('AttachFileRequest', {
  ...AttachFields.properties,
  file: fileField(`The file, at most 10 MiB (10,485,760 bytes). Formats: ${FORMATS.join(', ')}.`),
})

const TAKEN = `Attaches a file to a lead. The format of the file is detected from its content. The file name must have an extension of the detected format. Extensions and contents of the formats:

- .jpg (also .jpeg, .jpe, .jfif, .jif, .pjpeg, .pjp), .png, .gif: the file starts with the signature of the format.
- .svg: XML whose first element is svg, in UTF-8, UTF-16 with a byte order mark, or an encoding that it declares.
- .pdf: the file starts with %PDF-, possibly after white space. If the file is binary, up to 1,024 other bytes
  may come before %PDF-.
- .txt: text in UTF-8, Windows-1252, or UTF-16 with a byte order mark, without control characters. \`content_type\`
  names the charset, unless it is UTF-8.
- .xlsx, .docx: an archive whose main part is a workbook or a document, without macros and without a password.

If a file is refused, the error states the reason. A file input that was left empty (no file name and no bytes) is ignored. A named file without bytes is refused. Parts in base64 or quoted-printable are decoded.`

/** Implements the lead API, section Attach a file. */
export const attachFile = operation({
  route: 'POST /leads/:reference/attachments',
  tag: 'Attachments',
  summary: 'Attach a file',
  description: TAKEN,
  idempotent: true,
  problems: ['lead-erased'],
  multipart: AttachForm,
  checks: AttachFields,
  answer: recordResponse(Image, 'The attachment. `url` needs a bearer token.'),
  handler: async (call) => {
    const { clients, dependencies } = call
    const { accountId, reference } = call.leadKey()
    await findLead(call)
    const terms = { collection: 'attachments', formats: FORMATS } as const
    return recordFile(call, terms, ({ name }, file, idempotency) =>
      clients.attachments.attachFile({
        accountId,
        reference,
        file: { name, ...file },
        baseUrl: dependencies.configuredAddress,
        idempotency,
      }),
    )
  },
})
