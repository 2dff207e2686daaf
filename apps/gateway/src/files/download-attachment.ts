import { FILE_FORMATS, Image, oneLine } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { encodeExtended } from 'content-disposition'
import { leadListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { LeadParams } from '../api/schemas'
import { sendFile } from '../api/send-file'

// This policy prevents scripts and forms in a stored file from running in the API's origin.
export const SANDBOX = "sandbox; default-src 'none'"

/** Returns a Content-Disposition that saves the file under its name, in any script (RFC 6266, RFC 8187). */
const buildDisposition = (fileName: string): string => {
  const name = oneLine(fileName)
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const plain = `attachment; filename="${ascii}"`
  return ascii === name ? plain : `${plain}; filename*=${encodeExtended(name)}`
}

export const downloadAttachment = operation({
  route: 'GET /leads/:reference/attachments/:id',
  tag: 'Attachments',
  summary: 'Download an attachment',
  params: Type.Object({
    ...LeadParams.properties,
    id: Type.Integer({ minimum: 1, description: 'The ID of the attachment.', examples: [5] }),
  }),
  answer: {
    description: 'The file as it was sent.',
    types: Object.values(FILE_FORMATS).map(({ contentType }) => contentType),
  },
  handler: async (call) => {
    const { pathId, leadKey, reply, clients } = call
    const key = { ...leadKey(), attachmentId: pathId() }
    const { file } = await clients.attachments.retrieveAttachment(key)
    if (!file) throw new ServiceError('internal', 'leads-service returned an attachment without its file.')
    const stored = await clients.files.download(file.key)
    reply.headers({
      'content-type': file.contentType === 'text/plain' ? 'text/plain; charset=utf-8' : file.contentType,
      'content-disposition': buildDisposition(file.fileName),
      'content-security-policy': SANDBOX,
      'cache-control': 'private, max-age=3600',
    })
    return sendFile(call, stored)
  },
})

export const listAttachments = leadListOperation({
  route: 'GET /leads/:reference/attachments',
  tag: 'Attachments',
  summary: 'List attachments',
  record: Image,
  find: ({ clients, limits, dependencies, request }, asked) =>
    clients.attachments.listAttachments({ ...asked, baseUrl: dependencies.findAddress(request) }, limits),
})
