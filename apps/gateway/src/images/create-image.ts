import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { keepStoredFile } from '../attachments/keep-stored-file'
import { receiveFile } from '../attachments/receive-file'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf } from '../docs/shared-schemas'
import { sendJson } from '../http/send-json'
import { text } from '../validation/fields'
import { textFaults } from '../validation/text-faults'

const FORMATS = ['jpeg', 'png', 'gif', 'svg'] as const

const ImageFields = Type.Object({
  alt: Type.Optional(
    text({ description: 'Text for those who do not see it.', examples: ['A casement window'] }),
  ),
  name: Type.Optional(text({ examples: ['Front elevation'] })),
})

const ImageForm = Type.Object({
  file: Type.Unsafe({
    type: 'string',
    format: 'binary',
    description: `The image, at most 10 MiB: ${FORMATS.join(', ')}.`,
  }),
  ...ImageFields.properties,
})

/** POST /manage/images: an image that quote items can refer to. */
export const createImage = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients, validation } = dependencies
  const check = validation.checker(ImageFields)
  const checkFields = (fields: Record<string, unknown>) => check({ fields, faults: textFaults(fields) })
  app.post(
    '/manage/images',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'createImage',
        tag: 'Management',
        summary: 'Send an image',
        description: 'Anyone may read it at its url, for ever.',
        scope: 'manage',
        multipart: ImageForm,
        answer: { description: 'The image.', schema: dataOf({ $ref: 'Image#' }) },
        problems: ['timeout'],
      }),
    },
    async (request, reply) => {
      const { fields, fileName, upload } = await receiveFile(request, reply, dependencies, {
        collection: 'images',
        formats: FORMATS,
        keep: true,
        wantsSha256: false,
        faultsOf: (form) => checkFields(form).faults ?? {},
      })
      const { alt, name } = checkFields(fields).value!
      const { key, size, content_type: contentType } = upload
      const { body } = await keepStoredFile(dependencies, key, () =>
        clients.attachments.createImage({
          accountId: request.principal.accountId,
          file: { name: name ?? '', fileName, fileSize: size, contentType, key },
          alt,
        }),
      )
      return sendJson(reply, body)
    },
  )
}
