import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { refuseOtherTypes } from '../http/body'

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
      fields: 50,
      files: 10,
      parts: 50,
    },
  } as Parameters<typeof app.register>[1])
}
