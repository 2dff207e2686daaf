/**
 * @typedef {{lang: string, label: string, source: string}} CodeSample
 * @typedef {{paths: Record<string, Record<string, Record<string, CodeSample[]>>>}} OpenApi
 * @typedef {HTMLElement & {loadSpec(document: OpenApi): Promise<void>,
 *   setAuthenticationConfiguration(scheme: string, values: {token: string}): Promise<void>}} Explorer
 */

// The same as the console's: a token entered there is known here. The tab's storage ends with the tab.
const KEPT_AS = 'leadwire.token'

/** @template {Element} T @param {string} selector */
const part = (selector) => /** @type {T} */ (document.querySelector(selector))
const explorer = /** @type {Explorer} */ (part('openapi-explorer'))
const form = /** @type {HTMLFormElement} */ (part('.token'))
const input = /** @type {HTMLInputElement} */ (part('#token'))
const entry = /** @type {HTMLElement} */ (part('.entry'))
const forget = /** @type {HTMLButtonElement} */ (part('[data-action=forget-token]'))
const said = /** @type {HTMLOutputElement} */ (part('output'))
const alarm = /** @type {HTMLElement} */ (part('.notice[role=alert]'))

const useToken = () => {
  const token = sessionStorage.getItem(KEPT_AS) ?? ''
  entry.hidden = token !== ''
  forget.hidden = token === ''
  input.value = ''
  return explorer.setAuthenticationConfiguration('bearer', { token })
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const token = input.value.trim()
  // What is outside printable ASCII can't stand in a header.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    said.value = 'That is not a token.'
    return
  }
  sessionStorage.setItem(KEPT_AS, token)
  await useToken()
  said.value = 'Token kept until this tab is closed.'
})

forget.addEventListener('click', async () => {
  sessionStorage.removeItem(KEPT_AS)
  await useToken()
  said.value = 'Token forgotten.'
})

/**
 * The explorer reads code samples under another name, and takes their indentation away unless a line has none.
 * @param {OpenApi} document
 */
const forExplorer = (document) => {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const samples = operation['x-codeSamples'] ?? []
    operation['x-code-samples'] = samples.map((sample) => ({ ...sample, source: `${sample.source}\n` }))
  }
  return document
}

const load = async () => {
  const response = await fetch('openapi.json')
  if (!response.ok) throw new Error(`openapi.json was answered with ${response.status}.`)
  await customElements.whenDefined('openapi-explorer')
  await explorer.loadSpec(forExplorer(await response.json()))
  await useToken()
}

load().catch((error) => {
  alarm.textContent = `The reference could not be loaded: ${error.message} Try again in a moment.`
  alarm.hidden = false
})
