import { FILE_FORMATS } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { describe } from '../api/describe'
import { leadReference } from '../api/lead-reference'
import { pathId } from '../api/path-id'
import { LeadParams } from '../api/schemas'
import { sendFile, serveFile } from '../api/send-file'
import { attachmentDisposition } from './file-name'

const Params = Type.Object({
  ...LeadParams.properties,
  id: Type.Integer({ minimum: 1, description: "The attachment's id.", examples: [5] }),
})

// No script and no form of a stored file ever runs from our origin.
export const SANDBOX = "sandbox; default-src 'none'"

/** GET /leads/:reference/attachments/:id: what an attachment's url answers with. */
export const downloadAttachment = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients, fileIdleMs } = dependencies
  const options = {
    onRequest: authenticate('leads:read'),
    schema: describe({
      operationId: 'downloadAttachment',
      tag: 'Attachments',
      summary: 'Download an attachment',
      scope: 'leads:read',
      params: Params,
      answer: {
        description: 'The file as it was sent.',
        types: Object.values(FILE_FORMATS).map(({ contentType }) => contentType),
      },
    }),
  }
  serveFile(app, '/leads/:reference/attachments/:id', options, async (request, reply) => {
    const { file } = await clients.attachments.retrieveAttachment({
      accountId: request.principal.accountId,
      reference: leadReference(request),
      attachmentId: pathId(request),
    })
    if (!file) throw new ServiceError('internal', 'an attachment came without its file')
    const stored = await clients.files.download(file.key)
    reply.headers({
      'content-type': file.contentType === 'text/plain' ? 'text/plain; charset=utf-8' : file.contentType,
      'content-disposition': attachmentDisposition(file.fileName),
      'content-security-policy': SANDBOX,
      'cache-control': 'private, max-age=3600',
    })
    return sendFile(request, reply, { file: stored, idleMs: fileIdleMs })
  })
}
