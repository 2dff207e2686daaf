import multipart, { type Multipart } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuseOtherTypes } from '../http/body'
import { FORM_LIMITS } from '../http/problem'
import { refuseReplaced } from '../http/utf8'

/** Lets the routes of `app` read multipart/form-data, and nothing else. */
export const readMultipart = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  refuseOtherTypes(app)
  app.register(multipart, {
    // Names in any script, with the folders that files are told apart from later.
    defParamCharset: 'utf8',
    preservePath: true,
    throwFileSizeLimit: false,
    // files-service counts the bytes of a file. A field of 4 KiB holds more than 255 characters of any script.
    limits: {
      fileSize: Number.POSITIVE_INFINITY,
      fieldSize: 4096,
      fieldNameSize: 255,
      ...FORM_LIMITS,
    },
  } as Parameters<typeof app.register>[1])
}

/** The parts of a form in their order. Throws bad_request for names and texts that are not UTF-8. */
export async function* partsOf(request: FastifyRequest): AsyncGenerator<Multipart> {
  for await (const part of request.parts()) {
    const texts = [part.fieldname, part.type === 'file' ? part.filename : part.value]
    for (const text of texts) if (typeof text === 'string') refuseReplaced(text)
    yield part
  }
}
