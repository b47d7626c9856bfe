package main

import "testing"

func TestPlaceMovesOnlyPorts(t *testing.T) {
	s := &shop{ports: map[uint16]uint16{8080: 18080, 9104: 19104}}
	got := string(s.place([]byte("port: 8080\nnumber: 9104\nweight: 8080\nport: 80\n# 8080\n- name: a\n  port: 8080\n")))
	want := "port: 18080\nnumber: 19104\nweight: 8080\nport: 80\n# 8080\n- name: a\n  port: 18080\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
