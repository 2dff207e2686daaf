import { IMAGE_FORMATS, Image } from '@leadwire/contracts'
import { partial, text } from '@leadwire/requests'
import { operation } from '../api/operation'
import { fileField, named, recordResponse } from '../api/schemas'
import { recordFile } from './record-upload'

const ImageFields = partial({
  alt: text('Alternative text of the image.', 'A casement window'),
  name: text(undefined, 'Front elevation'),
})

const ImageForm = named('CreateImageRequest', {
  file: fileField(`The image, at most 10 MiB. Formats: ${IMAGE_FORMATS.join(', ')}.`),
  ...ImageFields.properties,
})

/** Stores an image that quote items can refer to. */
export const createImage = operation({
  route: 'POST /manage/images',
  summary: 'Create an image',
  description: 'Stores an image for quote items. The image is public at its `url` and is never deleted.',
  idempotent: true,
  multipart: ImageForm,
  checks: ImageFields,
  answer: recordResponse(Image, 'The image.'),
  handler: (call) => {
    const { accountId, clients, limits } = call
    const terms = { collection: 'images', formats: IMAGE_FORMATS } as const
    return recordFile(call, terms, ({ name = '', alt }, file, idempotency) =>
      // Gives the call no deadline, because the upload may have taken long.
      clients.attachments.createImage(
        { accountId, file: { name, ...file }, alt, idempotency },
        { actor: limits.actor },
      ),
    )
  },
})
