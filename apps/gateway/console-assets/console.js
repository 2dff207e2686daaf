import { actions } from './actions.js'
import { ownProblem, Problem, textOf, token } from './api.js'
import { deliveriesView } from './deliveries-view.js'
import { deliveryView } from './delivery-view.js'
import { h, morph } from './dom.js'
import { endpointView } from './endpoint-view.js'
import { endpointsView } from './endpoints-view.js'
import { clock, tick } from './format.js'
import { button } from './parts.js'

/** @typedef {{id: string, query: URLSearchParams, signal: AbortSignal}} Place */
/** @typedef {{area: string, title: (place: Place) => string, load: (place: Place) => Promise<any>, render: (data: any) => ChildNode[]}} View */

const REFRESH_MS = 5000

/** @type {[RegExp, View][]} */
const ROUTES = [
  [/^\/$/, endpointsView],
  [/^\/endpoints\/(\d+)$/, endpointView],
  [/^\/deliveries$/, deliveriesView],
  [/^\/deliveries\/(\d+)$/, deliveryView],
]

/** @param {string} selector */
const part = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector))
const main = part('main')
const notice = part('#notice')
const alarm = part('#alarm')
const freshness = part('.freshness')

let leaving = new AbortController()
let shownAt = 0
let loads = 0
let isLoading = false

/** Where the address points to; undefined when nowhere. @returns {{view: View, place: Place} | undefined} */
const whereTo = () => {
  const [path = '', query] = location.hash.slice(1).split('?')
  for (const [pattern, view] of ROUTES) {
    const match = pattern.exec(path || '/')
    if (match) {
      const place = { id: match[1] ?? '', query: new URLSearchParams(query), signal: leaving.signal }
      return { view, place }
    }
  }
  return undefined
}

/** @param {HTMLElement} place @param {import('./dom.js').Child} [text] A live region speaks only when it changes. */
const say = (place, text) => {
  place.replaceChildren()
  if (!text) return
  const close = h(
    'button',
    { type: 'button', class: 'close', 'data-action': 'dismiss', 'aria-label': 'Dismiss' },
    '×',
  )
  place.append(h('p', { class: 'notice' }, h('span', {}, text), close))
}

/** @param {ChildNode[]} nodes A new page: the heading has the focus, so that it is read first. */
const show = (nodes) => {
  main.replaceChildren(...nodes)
  main.removeAttribute('aria-busy')
  part('main h1')?.focus({ preventScroll: true })
  scrollTo(0, 0)
}

/** @param {string} title @param {string} [area] */
const frame = (title, area) => {
  document.title = `${title} · Leadwire console`
  const signedIn = token.read() !== null
  part('nav').hidden = !signedIn
  part('[data-action=forget-token]').hidden = !signedIn
  freshness.hidden = true
  for (const link of document.querySelectorAll('nav [data-area]')) {
    if (link.getAttribute('data-area') === area) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

/** @param {string} [why] */
const askForToken = (why) => {
  leaving.abort()
  token.forget()
  shownAt = 0
  frame('Token')
  say(notice)
  say(alarm)
  show([
    h(
      'form',
      { class: 'card token', 'data-action': 'keep-token' },
      h('h1', { tabindex: -1 }, 'Open the console'),
      h('p', { class: 'faint' }, 'Webhook endpoints, their health and every delivery of your account.'),
      h(
        'label',
        {},
        h('span', {}, 'Token'),
        h('input', {
          type: 'password',
          name: 'token',
          required: true,
          autocomplete: 'off',
          spellcheck: 'false',
          class: 'mono',
          'aria-describedby': why ? 'token-help token-error' : 'token-help',
          'aria-invalid': why ? 'true' : null,
        }),
      ),
      why && h('p', { class: 'error', id: 'token-error', role: 'alert' }, why),
      h(
        'p',
        { class: 'faint', id: 'token-help' },
        'A token of your account with the scope ',
        h('code', {}, 'manage'),
        '. It stays in this tab and is forgotten when the tab closes.',
      ),
      h('button', { type: 'submit' }, 'Open'),
    ),
  ])
  part('input[name=token]').focus()
}

/** @param {Problem} problem */
const showProblem = (problem) =>
  show([
    h(
      'div',
      { class: 'card padded problem' },
      h('h1', { tabindex: -1 }, problem.title),
      h('p', {}, textOf(problem)),
      h(
        'div',
        { class: 'actions' },
        problem.status === 403
          ? button('forget-token', 'Use another token')
          : button('try-again', 'Try again', { 'data-key': 'again' }),
      ),
    ),
  ])

/** @param {unknown} error */
const asProblem = (error) =>
  error instanceof Problem ? error : ownProblem(0, 'The console failed', String(error))

/** Shows what no page can be shown with; gives back what one can be. @param {unknown} error @returns {Problem | undefined} */
const refuse = (error) => {
  const problem = asProblem(error)
  if (problem.status === 401) askForToken('The token is not valid: it is unknown, revoked or expired.')
  else if (problem.status === 403 || shownAt === 0) showProblem(problem)
  else return problem
  return undefined
}

/** Loads what the address points to, as a new page or over the one that is there. @param {boolean} fresh */
const load = async (fresh) => {
  const target = whereTo()
  if (!target) return showProblem(ownProblem(404, 'Nothing here', 'The console has no such page.'))
  const { view, place } = target
  isLoading = true
  loads += 1
  const started = loads
  // An answer that was overtaken would show what was before.
  const isOvertaken = () => place.signal.aborted || started !== loads
  try {
    const data = await view.load(place)
    if (isOvertaken()) return
    const nodes = view.render(data)
    if (fresh) show(nodes)
    else morph(main, nodes)
    shownAt = Date.now()
    freshness.hidden = false
    freshness.textContent = 'Live'
    freshness.classList.remove('stale')
  } catch (error) {
    if (isOvertaken()) return
    const problem = refuse(error)
    if (!problem) return
    // What is shown stays: old numbers with their age are better than none.
    freshness.textContent = `Not updated since ${clock(shownAt)}: ${textOf(problem)}`
    freshness.classList.add('stale')
  } finally {
    if (!isOvertaken()) isLoading = false
  }
}

const navigate = async () => {
  leaving.abort()
  leaving = new AbortController()
  shownAt = 0
  if (token.read() === null) return askForToken()
  say(notice)
  say(alarm)
  const target = whereTo()
  frame(target ? target.view.title(target.place) : 'Nothing here', target?.view.area)
  main.setAttribute('aria-busy', 'true')
  main.replaceChildren(h('p', { class: 'loading' }, 'Loading…'))
  await load(true)
}

const refresh = async () => {
  if (shownAt > 0 && !isLoading && document.visibilityState === 'visible') await load(false)
}

/** @param {HTMLElement} source @param {string} name @param {Asked} asked @typedef {import('./actions.js').Asked} Asked */
const act = async (source, name, asked) => {
  const action = actions[name]
  if (!action || source.ariaBusy === 'true') return
  source.ariaBusy = 'true'
  const { signal } = leaving
  say(notice)
  say(alarm)
  try {
    const message = await action(asked)
    if (signal.aborted || !message) return
    say(notice, message)
    await load(false)
    // What was asked for has often happened by then.
    setTimeout(() => signal.aborted || refresh(), 1000)
  } catch (error) {
    if (signal.aborted) return
    const problem = refuse(error)
    say(alarm, problem && textOf(problem))
  } finally {
    source.ariaBusy = null
  }
}

/** What needs no gateway. @type {Record<string, (source: HTMLElement) => void>} */
const gestures = {
  'forget-token': () => {
    token.forget()
    void navigate()
  },
  'try-again': () => void navigate(),
  dismiss: (source) => source.closest('.notice')?.remove(),
}

document.addEventListener('click', (event) => {
  const source = event.target instanceof Element ? event.target.closest('button[data-action], .skip') : null
  if (!(source instanceof HTMLElement)) return
  const name = source.dataset.action ?? ''
  if (source.matches('.skip')) {
    // The address is the page's own way to say where it is.
    event.preventDefault()
    main.focus()
  } else if (gestures[name]) gestures[name](source)
  else void act(source, name, { id: source.dataset.id ?? '', fields: new FormData() })
})

document.addEventListener('submit', (event) => {
  event.preventDefault()
  const form = /** @type {HTMLFormElement} */ (event.target)
  const fields = new FormData(form)
  if (form.dataset.action !== 'keep-token') {
    void act(form, form.dataset.action ?? '', { id: form.dataset.id ?? '', fields })
    return
  }
  const given = String(fields.get('token')).trim()
  // Nothing else can stand in a header.
  if (!/^[\x21-\x7e]+$/.test(given)) return askForToken('That is not a token.')
  token.keep(given)
  void navigate()
})

addEventListener('hashchange', () => void navigate())
document.addEventListener('visibilitychange', () => void refresh())
setInterval(() => void refresh(), REFRESH_MS)
setInterval(tick, 1000)
void navigate()
