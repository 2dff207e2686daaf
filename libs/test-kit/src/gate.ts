export type Gate = { opened: Promise<void>; open(): void }

/** Makes a gate: `opened` resolves when the spec calls `open`. */
export function gate(): Gate {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
