// Catches errors of drawing: a row that cannot be drawn shows a message in its place, and the rest of the chat stays (EDI-05).
import { Component, type ComponentChildren } from 'preact';

interface Props {
  readonly children: ComponentChildren;
  readonly words: string;
}

export class Guard extends Component<Props, { readonly failed: Props['children'] | null }> {
  override state = { failed: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failed: this.props.children });
  }

  override render() {
    // New children are tried again.
    if (this.state.failed === null || this.state.failed !== this.props.children) return this.props.children;
    return <p class="note error" role="alert">{this.props.words}</p>;
  }
}
