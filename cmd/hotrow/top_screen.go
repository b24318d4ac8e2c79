package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/hotrow/hotrow/internal/ops"
)

const (
	topHistory = 40 // frames
	topEvents  = 100
)

// A topScreen is the terminal's whole screen, in Bubble Tea's terms.
type topScreen struct {
	frame  ops.Frame
	events []ops.Event
	view   topView
	err    error
}

// What the stream sends to the screen.
type (
	topFrame ops.Frame
	topLog   []ops.Event
	topEnd   struct{ err error }
)

// show fills the screen with frame after frame until q is pressed.
func (c *topCmd) show(ctx context.Context, p *program, body io.Reader) error {
	screen := &topScreen{view: topView{width: 80, height: 24, sort: c.Sort, colour: true}}
	t := tea.NewProgram(screen, tea.WithContext(ctx), tea.WithOutput(p.stdout))
	go func() {
		err := readLive(body, func(event string, data []byte) error {
			switch event {
			case "frame":
				var f ops.Frame
				if err := json.Unmarshal(data, &f); err != nil {
					return fmt.Errorf("a frame of /-/live: %w", err)
				}
				t.Send(topFrame(f))
			case "events":
				var list []ops.Event
				if err := json.Unmarshal(data, &list); err != nil {
					return fmt.Errorf("the events of /-/live: %w", err)
				}
				t.Send(topLog(list))
			}
			return nil
		})
		t.Send(topEnd{err})
	}()
	if _, err := t.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return screen.err
}

// Init asks for nothing: frames come by themselves.
func (s *topScreen) Init() tea.Cmd { return nil }

// Update takes a frame, a key or a size.
func (s *topScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.view.width, s.view.height = m.Width, m.Height
	case topFrame:
		s.frame = ops.Frame(m)
		s.events = append(s.events, s.frame.Events...)
		s.events = s.events[max(0, len(s.events)-topEvents):]
		if a := s.frame.Answers; s.frame.Interval > 0 {
			s.view.history = append(s.view.history, a.All())
			s.view.history = s.view.history[max(0, len(s.view.history)-topHistory):]
		}
	case topLog:
		s.events = m
	case topEnd:
		s.err = m.err
		return s, tea.Quit
	case tea.KeyPressMsg:
		switch m.String() {
		case "q", "ctrl+c", "esc":
			return s, tea.Quit
		case "r":
			s.view.sort = "rate"
		case "n":
			s.view.sort = "name"
		case "h":
			s.view.sort = "hits"
		case "c":
			s.view.sort = "changes"
		}
	}
	return s, nil
}

// View draws the screen, with the keys on its last line.
func (s *topScreen) View() tea.View {
	v := s.view
	v.height--
	text := renderTop(&s.frame, s.events, v)
	view := tea.NewView(text + "q quit   sorted by " + v.sort +
		": r rate, n name, h hits, c changes")
	view.AltScreen = true
	return view
}
