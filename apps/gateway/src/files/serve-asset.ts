import { FILE_FORMATS, IMAGE_FORMATS } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { describe } from '../api/describe'
import { closeFile, sendFile, serveFile } from '../api/send-file'
import { isKnown } from '../http/entity-tags'
import { SANDBOX } from './download-attachment'

const FILE = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.(png|jpg|gif|svg)$/

const TYPES = new Map<string, string>(
  IMAGE_FORMATS.map((name) => [FILE_FORMATS[name].extension, FILE_FORMATS[name].contentType]),
)

const Params = Type.Object({ file: Type.String({ examples: ['0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'] }) })

const headersOf = (extension: string, etag: string) => ({
  'content-type': TYPES.get(extension),
  'cache-control': 'public, max-age=31536000, immutable',
  etag,
  'content-security-policy': SANDBOX,
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  // As a page of its own an SVG could run scripts; as an image in a page it can't, and this does not hinder that.
  ...(extension === 'svg' && { 'content-disposition': 'attachment' }),
})

/** GET /assets/images/:file: stored images, for everyone. A stored image never changes, so it may be kept for ever. */
export const serveAsset = (app: FastifyInstance, { clients, fileIdleMs }: Dependencies): void => {
  const options = {
    schema: describe({
      operationId: 'serveAsset',
      tag: 'Assets',
      summary: 'Get an image',
      description: 'Anyone may. An image never changes: keep it for as long as you like.',
      params: Params,
      etag: 'read',
      answer: { description: 'The image.', types: [...TYPES.values()] },
    }),
  }
  serveFile(app, '/assets/images/:file', options, async (request, reply) => {
    const { file } = request.params as { file: string }
    const match = FILE.exec(file)
    if (!match) throw new ServiceError('not_found', 'There is no such image.')
    const [, uuid, extension] = match as unknown as [string, string, string]
    const etag = `"${uuid}"`
    const headers = headersOf(extension, etag)
    const stored = await clients.files.download(`images/${file}`)
    // Only now: what is not there is 404, whatever the client claims to have of it (RFC 9110, 13.2.1).
    if (!isKnown(request, etag))
      return sendFile(request, reply.headers(headers), { file: stored, idleMs: fileIdleMs })
    closeFile(stored)
    return reply.code(304).headers(headers).send()
  })
}
