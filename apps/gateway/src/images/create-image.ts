import { IMAGE_FORMATS } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { keepStoredFile } from '../attachments/keep-stored-file'
import { receiveFile } from '../attachments/receive-file'
import { dataOf } from '../docs/shared-schemas'
import { Image } from '../leads/lead-schema'
import { operation } from '../operation'
import { text } from '../validation/fields'

const ImageFields = Type.Partial(
  Type.Object({
    alt: text('Text for those who do not see it.', 'A casement window'),
    name: text(undefined, 'Front elevation'),
  }),
)

const ImageForm = Type.Object(
  {
    file: Type.Unsafe({
      type: 'string',
      format: 'binary',
      description: `The image, at most 10 MiB: ${IMAGE_FORMATS.join(', ')}.`,
    }),
    ...ImageFields.properties,
  },
  { title: 'CreateImageRequest' },
)

/** POST /manage/images: an image that quote items can refer to. */
export const createImage = operation({
  method: 'POST',
  url: '/manage/images',
  operationId: 'createImage',
  tag: 'Management',
  summary: 'Send an image',
  description: 'Anyone may read it at its url, for ever.',
  scope: 'manage',
  multipart: ImageForm,
  checks: ImageFields,
  answer: { description: 'The image.', schema: dataOf(Image) },
  handler: async (call) => {
    const terms = { collection: 'images', formats: IMAGE_FORMATS.join(), keep: true, sha256: false }
    const { fields, fileName, upload } = await receiveFile(call, terms)
    const { key, size, content_type: contentType } = upload
    const file = { name: fields.name ?? '', fileName, fileSize: size, contentType, key }
    const { body } = await keepStoredFile(call, key, () =>
      // Without the deadline: the upload took its time.
      call.clients.attachments.createImage(
        { accountId: call.accountId, file, alt: fields.alt },
        { actor: call.limits.actor },
      ),
    )
    return body
  },
})
