/**
 * @typedef {{lang: string, label: string, source: string}} CodeSample
 * @typedef {Record<string, Record<string, Record<string, CodeSample[]>>>} Paths
 * @typedef {{servers: {url: string}[], paths: Paths}} OpenApi
 * @typedef {HTMLElement & {loadSpec(document: OpenApi): Promise<void>,
 *   setAuthenticationConfiguration(scheme: string, values: {token: string}): Promise<void>}} Explorer
 */

// The console uses the same key, so a token that was entered in the console also works here. The browser
// deletes sessionStorage when the tab is closed.
const STORAGE_KEY = 'leadwire.token'

/** @template {Element} T @param {string} selector */
const findElement = (selector) => /** @type {T} */ (document.querySelector(selector))
const explorer = /** @type {Explorer} */ (findElement('openapi-explorer'))
const form = /** @type {HTMLFormElement} */ (findElement('.token'))
const input = /** @type {HTMLInputElement} */ (findElement('#token'))
const entry = /** @type {HTMLElement} */ (findElement('.entry'))
const forgetButton = /** @type {HTMLButtonElement} */ (findElement('[data-action=forget-token]'))
const message = /** @type {HTMLOutputElement} */ (findElement('output'))
const notice = /** @type {HTMLElement} */ (findElement('.notice[role=alert]'))

const useToken = () => {
  const token = sessionStorage.getItem(STORAGE_KEY) ?? ''
  entry.hidden = token !== ''
  forgetButton.hidden = token === ''
  input.value = ''
  return explorer.setAuthenticationConfiguration('bearer', { token })
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const token = input.value.trim()
  // A token that is sent in a header consists of printable ASCII characters without spaces.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    message.value = 'This is not a token.'
    return
  }
  sessionStorage.setItem(STORAGE_KEY, token)
  await useToken()
  message.value = 'Token kept until this tab is closed.'
})

forgetButton.addEventListener('click', async () => {
  sessionStorage.removeItem(STORAGE_KEY)
  await useToken()
  message.value = 'Token forgotten.'
})

/**
 * Adapts the OpenAPI document to the explorer:
 *
 * - The explorer expects code samples in `x-code-samples`.
 * - The explorer removes the indentation of a sample unless one line has no indentation. Each sample
 *   therefore gets an empty last line.
 * - "Try it" must send requests to this page's own origin, because the browser blocks requests to all other
 *   origins (CORS).
 *
 * @param {OpenApi} document
 */
const adaptToExplorer = (document) => {
  document.servers = [{ url: new URL('.', location.href).href.replace(/\/$/, '') }]
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const samples = operation['x-codeSamples'] ?? []
    operation['x-code-samples'] = samples.map((sample) => ({ ...sample, source: `${sample.source}\n` }))
  }
  return document
}

const load = async () => {
  const response = await fetch('openapi.json')
  if (!response.ok) throw new Error(`The response to openapi.json was ${response.status}.`)
  await customElements.whenDefined('openapi-explorer')
  await explorer.loadSpec(adaptToExplorer(await response.json()))
  await useToken()
}

load().catch((error) => {
  notice.textContent = `The reference could not be loaded: ${error.message} Reload the page to try again.`
  notice.hidden = false
})
