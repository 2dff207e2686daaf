import { FILE_FORMATS, IMAGE_FORMATS, isUuid } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { closeFile, sendFile } from '../api/send-file'
import { isKnown } from '../http/entity-tags'
import { SANDBOX } from './download-attachment'

const TYPES = new Map<string, string>(
  IMAGE_FORMATS.map((name) => [FILE_FORMATS[name].extension, FILE_FORMATS[name].contentType]),
)

export const serveAsset = operation({
  route: 'GET /assets/images/:file',
  tag: 'Assets',
  summary: 'Download an image',
  description: 'Returns an image. No token is needed. Images never change and can be cached forever.',
  scope: null,
  params: Type.Object({ file: Type.String({ examples: ['0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'] }) }),
  etag: 'read',
  answer: { description: 'The image.', types: [...TYPES.values()] },
  handler: async (call) => {
    const { request, reply, clients } = call
    const { file } = request.params as { file: string }
    const [id = '', extension = ''] = file.split('.')
    const type = TYPES.get(extension)
    if (!isUuid(id) || type === undefined || file !== `${id}.${extension}`.toLowerCase())
      throw new ServiceError('not_found', 'There is no such image.')
    const etag = `"${id}"`
    const stored = await clients.files.download(`images/${file}`)
    reply.headers({
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      etag,
      'content-security-policy': SANDBOX,
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      // Makes browsers download an SVG that is opened as a page, because the SVG could run scripts there. The
      // header has no effect on an SVG that is an image in a page, where scripts cannot run.
      ...(extension === 'svg' && { 'content-disposition': 'attachment' }),
    })
    // Reads If-None-Match only after the file was found, because a missing file must be a 404, not a 304
    // (RFC 9110, 13.2.1).
    if (!isKnown(request, etag)) return sendFile(call, stored)
    closeFile(stored)
    return void reply.code(304)
  },
})
