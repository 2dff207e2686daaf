/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

const SVG = 'http://www.w3.org/2000/svg'

/** @param {Element} element @param {Attributes} attributes @param {Child[]} children */
const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    element.setAttribute(name, value === true ? '' : String(value))
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    element.append(child instanceof Node ? child : String(child))
  }
}

/**
 * Makes an element. Children that are no nodes become text, whatever they hold: nothing here reads markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {...Child} children
 */
export const h = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag)
  fill(element, attributes, children)
  return element
}

/** The same for a part of a drawing. @param {string} tag @param {Attributes} [attributes] @param {...Child} children */
export const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(SVG, tag)
  fill(element, attributes, children)
  return element
}

/** @param {Node | undefined} node */
const keyOf = (node) => (node instanceof Element ? node.getAttribute('data-key') : null)

/** @param {Element} current @param {Element} next */
const syncAttributes = (current, next) => {
  for (const { name } of [...current.attributes]) {
    // What the reader opened stays open, and what is in flight stays marked.
    if (name === 'open' || name === 'aria-busy' || next.hasAttribute(name)) continue
    current.removeAttribute(name)
  }
  for (const { name, value } of next.attributes) {
    if (current.getAttribute(name) !== value) current.setAttribute(name, value)
  }
}

/** @param {Node} current @param {Node} next Whether one can be turned into the other. */
const isAlike = (current, next) =>
  current.nodeType === next.nodeType && current.nodeName === next.nodeName && keyOf(current) === keyOf(next)

/** @param {ChildNode} current @param {ChildNode} next */
const patch = (current, next) => {
  if (current instanceof Element && next instanceof Element) {
    syncAttributes(current, next)
    morph(current, [...next.childNodes])
  } else if (current.nodeValue !== next.nodeValue) current.nodeValue = next.nodeValue
}

/**
 * Makes the children of an element what they should be by changing only what differs, so that a refresh takes away
 * neither focus nor selection nor an open part. Rows are known by `data-key`: new ones are put among the old.
 * @param {Element} parent @param {ChildNode[]} children
 */
export const morph = (parent, children) => {
  const keys = new Set(children.map(keyOf).filter((key) => key !== null))
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child)
    if (key !== null && !keys.has(key)) child.remove()
  }
  children.forEach((next, index) => {
    const key = keyOf(next)
    const there = parent.childNodes[index]
    const known = key === null ? there : [...parent.childNodes].find((child) => keyOf(child) === key)
    if (!known || !isAlike(known, next)) {
      if (there && key === null && keyOf(there) === null) there.replaceWith(next)
      else parent.insertBefore(next, there ?? null)
      return
    }
    if (known !== there) parent.insertBefore(known, there ?? null)
    patch(known, next)
  })
  while (parent.childNodes.length > children.length) parent.lastChild?.remove()
}
