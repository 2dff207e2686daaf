import swagger from '@fastify/swagger'
import { VERSION } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { compressJson } from '../http/compress-json'
import { curlSample, type DocumentedOperation, type Schemas } from './curl-sample'
import { nameComponents } from './name-components'
import { WEBHOOK_PATH_ITEMS, WEBHOOKS } from './webhooks'

const DESCRIPTION = `Stores sales leads, and sends signed webhooks about each new lead and what happens to it.

**Tokens.** Every operation but those under Capture, Health and Assets, and the reading of a calendar, needs \`Authorization: Bearer <token>\`. A token belongs to one account and has scopes: \`leads\` (which includes \`leads:read\` and \`leads:create\`) and \`manage\` (which includes \`manage:read\`, \`webhooks\` and \`events:read\`), or parts of them. When a token expires within 14 days, every answer to its requests says when, in the header \`Token-Expires-At\`.

**Bodies** are JSON or \`application/x-www-form-urlencoded\`, at most 1 MiB. Booleans may be true, false, 1, 0, "1" and "0", in forms also \`true\` and \`false\`; a repeated field of a form is a list; integers may come as digits in a string; strings are trimmed, and but for descriptions of leads are one line without control characters; one in which nothing can be seen counts as null; unknown fields are ignored.

**Errors** are \`application/problem+json\` (RFC 9457). With status 422 \`errors\` lists every invalid field at once.

**Times** in answers are ISO 8601 in UTC with microseconds.

**Samples** take the address of the API from the environment variable \`BASE_URL\`, the token from \`TOKEN\`, and what stands in braces in a path from a variable of its name, such as \`REFERENCE\` and \`ID\`. Forms send the file \`house.png\`.`

const TAGS = [
  { name: 'Leads', description: 'Create, find and change leads.' },
  { name: 'Scheduling', description: 'Appointments and callbacks.' },
  { name: 'Attachments', description: 'Files of a lead.' },
  { name: 'Capture', description: 'Leads from the forms of websites, with a publishable token.' },
  { name: 'Management', description: 'Visitor leads, images, users and tokens.' },
  { name: 'Privacy', description: 'Erasing what is held of a person, and exporting it.' },
  { name: 'Webhooks', description: 'Where events are sent, and how that went.' },
  { name: 'Events', description: 'What webhook endpoints receive.' },
  { name: 'Notifications', description: 'Messages to users, and how they were delivered.' },
  { name: 'Assets', description: 'Stored images.' },
  { name: 'Health', description: 'For operators of the service.' },
]

type Document = {
  paths: Record<string, Record<string, DocumentedOperation & { 'x-codeSamples'?: object[] }>>
  components: { schemas: Schemas }
}

const addSamples = ({ paths, components: { schemas } }: Document) => {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const source = curlSample(operation, { method, path, schemas })
      operation['x-codeSamples'] = [{ lang: 'shell', label: 'curl', source }]
    }
  }
}

/** GET /openapi.json: OpenAPI 3.1 of every route that is added afterwards. */
export const serveOpenApi = (
  app: FastifyInstance,
  { publicUrl, addressOf }: { publicUrl: string | undefined; addressOf: Dependencies['addressOf'] },
): void => {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadwire',
        version: VERSION,
        description: DESCRIPTION,
        contact: { name: 'The operator of this service' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl ?? '/' }],
      tags: TAGS,
      webhooks: WEBHOOKS,
      components: {
        pathItems: WEBHOOK_PATH_ITEMS as never,
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of your account.' },
        },
      },
    },
    transformObject: (given) => {
      const document = nameComponents('openapiObject' in given ? given.openapiObject : {})
      addSamples(document as unknown as Document)
      return document
    },
  })
  app.register(async (scope) => {
    // Always compressed: it has no secret, and is a tenth as long.
    await compressJson(scope)
    scope.get('/openapi.json', { schema: { hide: true } }, async (request, reply) =>
      reply
        .header('access-control-allow-origin', '*')
        .send({ ...app.swagger(), servers: [{ url: addressOf(request) }] }),
    )
  })
}
