import { version } from '../../package.json'

/** The version of Leadwire, as in the User-Agent of webhooks and in the OpenAPI document. */
export const VERSION: string = version
