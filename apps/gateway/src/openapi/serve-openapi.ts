import swagger from '@fastify/swagger'
import { VERSION } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { buildStaticDocument, type StaticDocument, sendStaticDocument } from '../http/static-document'
import { curlSample, type DocumentedOperation, type Schemas } from './curl-sample'
import { nameComponents } from './name-components'
import { WEBHOOK_PATH_ITEMS, WEBHOOKS } from './webhooks'

const DESCRIPTION = `Stores sales leads. Sends signed webhooks when leads are created and changed.

**Tokens.** Send \`Authorization: Bearer <token>\` with every operation, except those under Capture, Health and Assets, and except reading a calendar. A token belongs to one account and has scopes: \`leads\` (which includes \`leads:read\` and \`leads:create\`) and \`manage\` (which includes \`manage:read\`, \`webhooks\`, \`events:read\` and \`users:read\`). A token can have any subset of these scopes. During the last 14 days before a token expires, each response has the header \`Token-Expires-At\`.

**Bodies** are JSON or \`application/x-www-form-urlencoded\`, at most 1 MiB. In JSON, a boolean is true, false, 1 or 0, with or without quotes. In a form, a boolean is one of the texts \`true\`, \`false\`, \`1\` and \`0\`. A repeated form field is a list. Integers may be strings of digits. Strings are trimmed. A string without a visible character counts as null. Except for descriptions of leads and texts of notes, strings are one line without control characters. Unknown fields of a body are ignored, but an unknown key in an object that selects records, such as a \`filter\`, is a 422.

**Errors** are \`application/problem+json\` (RFC 9457). With status 422, \`errors\` lists all invalid fields.

**Times** in responses are ISO 8601, UTC, with microseconds.

**Samples** read the base URL of the API from the environment variable \`BASE_URL\` and the token from \`TOKEN\`. Each path parameter has a variable of the same name, such as \`REFERENCE\` or \`ID\`. Uploads send the file \`house.png\`.`

const TAGS = [
  { name: 'Leads', description: 'Create, find and update leads.' },
  { name: 'Scheduling', description: 'Schedule, change, cancel and list appointments and callbacks.' },
  { name: 'Attachments', description: 'Attach files to a lead and download them.' },
  { name: 'Capture', description: 'Create leads from website forms with a publishable token.' },
  { name: 'Management', description: 'Manage visitor leads, images, users and tokens.' },
  { name: 'Sign-in', description: 'People sign in to the console.' },
  { name: 'Privacy', description: 'Export and erase personal data.' },
  { name: 'Webhooks', description: 'Manage webhook endpoints and their deliveries.' },
  { name: 'Events', description: 'The webhooks that endpoints receive.' },
  { name: 'Notifications', description: 'Messages to users and their deliveries.' },
  { name: 'Assets', description: 'Download stored images.' },
  { name: 'Health', description: 'Health checks for operators and load balancers.' },
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

/**
 * Serves GET /openapi.json, the OpenAPI 3.1 document of all routes that are added later. `address` is the
 * base URL of the API.
 */
export const serveOpenApi = (app: FastifyInstance, address: string): void => {
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
      servers: [{ url: address }],
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
    let built: StaticDocument | undefined
    // Builds the document only once. A build takes 10 ms, and no route is added after the first call.
    const document = () => {
      built ??= buildStaticDocument(JSON.stringify(app.swagger()))
      return built
    }
    // Builds the document before the first request. During a request, the build would block all other
    // requests.
    scope.addHook('onListen', async () => void document())
    scope.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
      reply.header('access-control-allow-origin', '*').type('application/json; charset=utf-8')
      return sendStaticDocument(request, reply, document())
    })
  })
}
