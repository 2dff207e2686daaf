import { FILE_FORMATS, Image } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, fileField, named } from '../api/schemas'
import { text } from '../validation/fields'
import { recordFileOnce } from './record-upload-once'

export const FORMATS = Object.keys(FILE_FORMATS)

const AttachFields = Type.Object({
  name: text('Name of the file.', 'Survey of the house'),
})

const AttachForm = named('AttachFileRequest', {
  ...AttachFields.properties,
  file: fileField(`The file, at most 10 MiB (10,485,760 bytes): ${FORMATS.join(', ')}.`),
})

const TAKEN = `The format of a file is detected from its content, and its name must have an extension of that format:

- .jpg, .jpeg, .png, .gif: what starts with the signature of the format.
- .svg: XML whose first element is svg, in UTF-8, UTF-16 with a byte order mark, or an encoding that it declares.
- .pdf: what starts with %PDF-, behind white space or up to 1,024 bytes that are no text.
- .txt: text in UTF-8, Windows-1252, or UTF-16 with a byte order mark, without control characters. Its content_type names the
  charset, unless it is UTF-8.
- .xlsx, .docx: a workbook or a document, by the main part of the archive, without macros and without a password.

What is refused says why. A file input that was left empty is ignored. Parts in base64 or quoted-printable are decoded.`

/** Interface: Attach a file. */
export const attachFile = operation({
  route: 'POST /leads/:reference/attachments',
  tag: 'Attachments',
  summary: 'Attach a file',
  description: TAKEN,
  idempotent: true,
  problems: ['lead-erased'],
  multipart: AttachForm,
  checks: AttachFields,
  answer: dataOf(Image, 'The attachment. Its url needs a bearer token.'),
  handler: async (call) => {
    const { request, clients, dependencies } = call
    const { accountId, reference } = call.leadKey()
    const { leadMissing } = await clients.leads.checkReferences({ accountId, leadReference: reference })
    if (leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
    const terms = { collection: 'attachments', formats: FORMATS } as const
    return recordFileOnce(call, terms, ({ name }, file, saveUnder) =>
      clients.attachments.attachFile({
        ...{ accountId, reference, file: { name, ...file }, baseUrl: dependencies.addressOf(request) },
        ...saveUnder,
      }),
    )
  },
})
