import { IMAGE_FORMATS, Image } from '@leadwire/contracts'
import { operation } from '../api/operation'
import { dataOf, fileField, named } from '../api/schemas'
import { partial, text } from '../validation/fields'
import { recordFileOnce } from './record-upload-once'

const ImageFields = partial({
  alt: text('Text for those who do not see it.', 'A casement window'),
  name: text(undefined, 'Front elevation'),
})

const ImageForm = named('CreateImageRequest', {
  file: fileField(`The image, at most 10 MiB: ${IMAGE_FORMATS.join(', ')}.`),
  ...ImageFields.properties,
})

/** POST /manage/images: an image that quote items can refer to. */
export const createImage = operation({
  route: 'POST /manage/images',
  summary: 'Send an image',
  description: 'Anyone may read it at its url, for ever.',
  idempotent: true,
  multipart: ImageForm,
  checks: ImageFields,
  answer: dataOf(Image, 'The image.'),
  handler: (call) => {
    const { accountId, clients, limits } = call
    const terms = { collection: 'images', formats: IMAGE_FORMATS } as const
    return recordFileOnce(call, terms, ({ name = '', alt }, file, saveUnder) =>
      // Without the deadline: the upload took its time.
      clients.attachments.createImage(
        { accountId, file: { name, ...file }, alt, ...saveUnder },
        { actor: limits.actor },
      ),
    )
  },
})
