import { FILE_FORMATS } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { dataOf, LeadParams } from '../docs/shared-schemas'
import { leadReference } from '../leads/lead-reference'
import { Image } from '../leads/lead-schema'
import { operation } from '../operation'
import { text } from '../validation/fields'
import { recordFileOnce } from './record-file-once'

const FORMATS = Object.keys(FILE_FORMATS)

const AttachFields = Type.Object({
  name: text('Name of the file.', 'Survey of the house'),
})

const AttachForm = Type.Object(
  {
    ...AttachFields.properties,
    file: Type.Unsafe({
      type: 'string',
      format: 'binary',
      description: `The file, at most 10 MiB (10,485,760 bytes): ${FORMATS.join(', ')}.`,
    }),
  },
  { title: 'AttachFileRequest' },
)

/** POST /leads/:reference/attachments (interface: Attach a file). */
export const attachFile = operation({
  method: 'POST',
  url: '/leads/:reference/attachments',
  operationId: 'attachFile',
  tag: 'Attachments',
  summary: 'Attach a file',
  description:
    'The type of a file is told from its content, and its name must have an extension of that type.',
  scope: 'leads',
  params: LeadParams,
  idempotent: true,
  problems: ['lead-erased'],
  multipart: AttachForm,
  checks: AttachFields,
  answer: {
    description: 'The attachment. Its url needs a bearer token.',
    schema: dataOf(Image),
  },
  handler: async (call) => {
    const { request, accountId, clients, addressOf } = call
    const reference = leadReference(request)
    const { leadMissing } = await clients.leads.checkReferences({ accountId, leadReference: reference })
    if (leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
    return recordFileOnce(call, {
      collection: 'attachments',
      formats: FORMATS,
      record: ({ fields: { name }, file, ...key }) =>
        clients.attachments.attachFile({
          ...{ accountId, reference, file: { name, ...file }, baseUrl: addressOf(request) },
          ...key,
        }),
    })
  },
})
